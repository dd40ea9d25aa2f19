#include "runtime/chat/harmony/TypeScript.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/chat/Schema.h"

namespace inf {
namespace {

std::string typeOf(const SchemaJson &schema, const std::string &indent);

const SchemaJson *member(const SchemaJson &schema, const char *key) {
  if (!schema.is_object())
    return nullptr;
  auto found = schema.find(key);
  return found == schema.end() ? nullptr : &*found;
}

const std::string *text(const SchemaJson &schema, const char *key) {
  const SchemaJson *value = member(schema, key);
  return value ? value->get_ptr<const std::string *>() : nullptr;
}

/// The array `key`, or null when there is none.
const SchemaJson *list(const SchemaJson &schema, const char *key) {
  const SchemaJson *value = member(schema, key);
  return value && value->is_array() ? value : nullptr;
}

std::string dumped(const SchemaJson &value) {
  return value.dump(-1, ' ', false, SchemaJson::error_handler_t::replace);
}

bool isEnum(const SchemaJson &schema) {
  const SchemaJson *values = list(schema, "enum");
  return values && !values->empty();
}

/// "default: 20", or "". Strings are quoted, but not those of an enum.
std::string defaultComment(const SchemaJson &schema) {
  const SchemaJson *value = member(schema, "default");
  if (!value)
    return "";
  const std::string *words = value->get_ptr<const std::string *>();
  if (!words)
    return "default: " + dumped(*value);
  return isEnum(schema) ? "default: " + *words : fmt::format("default: \"{}\"", *words);
}

std::string withNull(const SchemaJson &schema, std::string type) {
  const SchemaJson *nullable = member(schema, "nullable");
  bool add = nullable && nullable->is_boolean() && nullable->get<bool>();
  return add && type.find("null") == std::string::npos ? type + " | null" : type;
}

/// A member of a oneOf with what there is to say behind it.
std::string variant(const SchemaJson &schema, const std::string &indent, bool describe) {
  std::string line = withNull(schema, typeOf(schema, indent + "   "));
  std::vector<std::string> comments;
  if (const std::string *words = text(schema, "description"); words && describe)
    comments.push_back(*words);
  if (std::string words = defaultComment(schema); !words.empty())
    comments.push_back(words);
  return comments.empty() ? line : fmt::format("{} // {}", line, fmt::join(comments, " "));
}

std::string oneOfType(const SchemaJson &variants, const std::string &indent) {
  std::string out;
  for (const SchemaJson &one : variants)
    out += fmt::format("\n{} | {}", indent, variant(one, indent, true));
  return out;
}

/// A property that is a oneOf: its variants stand in lines of their own.
std::string oneOfProperty(const std::string &name, const SchemaJson &schema,
                          const SchemaJson &variants, const std::string &indent) {
  const std::string *words = text(schema, "description");
  const std::string *first = variants.empty() ? nullptr : text(variants.front(), "description");
  bool above = words && !(first && *first == *words);
  std::string out = above ? fmt::format("{}// {}\n", indent, *words) : "";
  if (std::string value = defaultComment(schema); !value.empty())
    out += fmt::format("{}// {}\n", indent, value);
  out += fmt::format("{}{}:\n", indent, name);
  for (size_t i = 0; i < variants.size(); ++i) {
    const std::string *own = text(variants[i], "description");
    bool repeats = (i == 0 && above) || (words && own && *own == *words);
    out += fmt::format("{} | {}\n", indent, variant(variants[i], indent, !repeats));
  }
  return out + indent + ",\n";
}

std::string exampleLines(const SchemaJson &schema, const std::string &indent) {
  const SchemaJson *examples = list(schema, "examples");
  if (!examples || examples->empty())
    return "";
  std::string out = indent + "// Examples:\n";
  for (const SchemaJson &example : *examples)
    if (const std::string *words = example.get_ptr<const std::string *>())
      out += fmt::format("{}// - \"{}\"\n", indent, *words);
  return out;
}

std::string property(const std::string &key, const SchemaJson &schema, bool required,
                     const std::string &indent) {
  const SchemaJson *variants = list(schema, "oneOf");
  std::string out, name = required ? key : key + "?";
  if (const std::string *title = text(schema, "title"))
    out += fmt::format("{0}// {1}\n{0}//\n", indent, *title);
  if (const std::string *words = text(schema, "description"); words && !member(schema, "oneOf"))
    out += fmt::format("{}// {}\n", indent, *words);
  out += exampleLines(schema, indent);
  if (variants)
    return out + oneOfProperty(name, schema, *variants, indent);
  out += fmt::format("{}{}: {},", indent, name, withNull(schema, typeOf(schema, indent + "    ")));
  if (std::string value = defaultComment(schema); !value.empty())
    out += " // " + value;
  return out + "\n";
}

std::string objectType(const SchemaJson &schema, const std::string &indent) {
  std::string out;
  if (const std::string *words = text(schema, "description"))
    out += fmt::format("{}// {}\n", indent, *words);
  out += "{\n";
  const SchemaJson *properties = member(schema, "properties");
  const SchemaJson *required = list(schema, "required");
  if (properties && properties->is_object())
    for (const auto &item : properties->items()) {
      bool needed =
          required && std::find(required->begin(), required->end(), item.key()) != required->end();
      out += property(item.key(), item.value(), needed, indent);
    }
  return out + indent + "}";
}

std::string stringType(const SchemaJson &schema) {
  std::vector<std::string> values;
  if (const SchemaJson *all = list(schema, "enum"))
    for (const SchemaJson &value : *all)
      if (const std::string *words = value.get_ptr<const std::string *>())
        values.push_back(fmt::format("\"{}\"", *words));
  return values.empty() ? "string" : fmt::format("{}", fmt::join(values, " | "));
}

std::string unionType(const SchemaJson &types) {
  std::vector<std::string> names;
  for (const SchemaJson &type : types)
    if (const std::string *name = type.get_ptr<const std::string *>())
      names.push_back(*name == "integer" ? "number" : *name);
  return fmt::format("{}", fmt::join(names, " | "));
}

std::string typeOf(const SchemaJson &schema, const std::string &indent) {
  if (const SchemaJson *variants = list(schema, "oneOf"))
    return oneOfType(*variants, indent);
  if (const SchemaJson *types = list(schema, "type"))
    if (std::string names = unionType(*types); !names.empty())
      return names;
  const std::string *type = text(schema, "type");
  if (!type)
    return "any";
  if (*type == "object")
    return objectType(schema, indent);
  if (*type == "string")
    return stringType(schema);
  if (*type == "number" || *type == "integer")
    return "number";
  if (*type == "boolean")
    return "boolean";
  if (*type == "array") {
    const SchemaJson *items = member(schema, "items");
    return items ? typeOf(*items, indent) + "[]" : "Array<any>";
  }
  return "any";
}

} // namespace

std::string typeScriptOf(const ChatTool &tool) { return typeOf(parseToolSchema(tool), ""); }

} // namespace inf
