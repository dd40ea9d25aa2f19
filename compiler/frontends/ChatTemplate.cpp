#include "compiler/frontends/ChatTemplate.h"

#include <filesystem>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"
#include "runtime/format/FileInput.h"
#include "runtime/format/StrictJson.h"

namespace inf {
namespace {

namespace fs = std::filesystem;

constexpr char key[] = "chat_template";
constexpr uint64_t largestConfig = uint64_t{64} << 20; // 3 MB are the most known

nlohmann::json parseObject(const std::string &path, std::string_view text) {
  nlohmann::json json = parseStrictJson(text, path);
  if (!json.is_object())
    fail(ErrorCode::BadInput, "{}: expected an object, found {}; download it again", path,
         json.type_name());
  return json;
}

const std::string &textOf(const std::string &path, const nlohmann::json &object, const char *name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end() || !found->is_string())
    fail(ErrorCode::BadInput,
         "{}: an entry of {} without a text \"{}\"; expected objects of \"name\" and \"template\"",
         path, key, name);
  return found->get_ref<const std::string &>();
}

std::string defaultOf(const std::string &path, const nlohmann::json &list) {
  std::vector<std::string> names;
  for (const nlohmann::json &entry : list) {
    names.push_back(textOf(path, entry, "name"));
    const std::string &text = textOf(path, entry, "template");
    if (names.back() == "default" || list.size() == 1)
      return text;
  }
  fail(
      ErrorCode::BadInput,
      "{}: {} lists [{}], expected one named default; save the one you mean as chat_template.jinja",
      path, key, fmt::join(names, ", "));
}

} // namespace

std::string findChatTemplate(const std::string &directory) {
  const fs::path jinja = fs::path(directory) / "chat_template.jinja";
  const fs::path config = fs::path(directory) / "tokenizer_config.json";
  std::error_code ignored;
  if (fs::exists(jinja, ignored))
    return jinja.string();
  if (!fs::exists(config, ignored))
    return {};
  const nlohmann::json json =
      parseObject(config.string(), readWholeFile(config.string(), largestConfig));
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? "" : config.string();
}

std::string chatTemplateText(const std::string &path, const std::string &text) {
  if (!path.ends_with(".json"))
    return text;
  const nlohmann::json json = parseObject(path, text);
  const auto found = json.find(key);
  if (found != json.end() && found->is_string())
    return found->get<std::string>();
  if (found != json.end() && found->is_array())
    return defaultOf(path, *found);
  fail(ErrorCode::BadInput, "{}: {} is {}, expected a text or a list of named ones", path, key,
       found == json.end() ? "missing" : found->type_name());
}

} // namespace inf
