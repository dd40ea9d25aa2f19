// Where a checkpoint keeps its chat template.
#pragma once

#include <string>
#include <string_view>

namespace inf {

/// The file in `directory` with the chat template: chat_template.jinja, else tokenizer_config.json
/// when that has a `chat_template`; "" when there is none. Fails with BadInput for a
/// tokenizer_config.json that is no JSON object.
std::string findChatTemplate(const std::string &directory);

/// The template in `text`, the contents of the file `path`: all of it, but of a .json file its
/// `chat_template`, which is a string or a list of objects with `name` and `template`. Of a list
/// the one named "default" counts, or the only one. Fails with BadInput for anything else.
std::string chatTemplateText(const std::string &path, const std::string &text);

} // namespace inf
