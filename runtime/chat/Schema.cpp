#include "runtime/chat/Schema.h"

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr int maxDepth = 64;

void newLine(std::string &out, unsigned indent, unsigned depth) {
  if (indent)
    out.append(1, '\n').append(size_t(indent) * depth, ' ');
}

/// Depth is bounded by parseToolSchema and by what callers build.
void write(std::string &out, const SchemaJson &json, unsigned indent, unsigned depth) {
  if (!json.is_structured() || json.empty()) {
    out += json.dump(-1, ' ', false, SchemaJson::error_handler_t::replace);
    return;
  }
  out += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto &item : json.items()) {
    if (!first)
      out += indent ? "," : ", ";
    first = false;
    newLine(out, indent, depth + 1);
    if (json.is_object())
      out +=
          SchemaJson(item.key()).dump(-1, ' ', false, SchemaJson::error_handler_t::replace) + ": ";
    write(out, item.value(), indent, depth + 1);
  }
  newLine(out, indent, depth);
  out += json.is_object() ? '}' : ']';
}

} // namespace

SchemaJson parseToolSchema(const ChatTool &tool) {
  auto bounded = [&](int depth, SchemaJson::parse_event_t, SchemaJson &) {
    if (depth > maxDepth)
      fail(ErrorCode::Usage, "the parameters of tool '{}' are nested deeper than {}. Flatten them.",
           tool.name, maxDepth);
    return true;
  };
  SchemaJson schema = SchemaJson::parse(tool.parameters, bounded, false);
  if (!schema.is_object())
    fail(ErrorCode::Usage,
         "the parameters of tool '{}' are no JSON schema: expected an object like "
         "{{\"type\": \"object\", \"properties\": …}}.",
         tool.name);
  return schema;
}

std::string pythonJson(const SchemaJson &json, unsigned indent) {
  std::string out;
  write(out, json, indent, 0);
  return out;
}

} // namespace inf
