#include "runtime/chat/templates/TemplateSpec.h"

#include <algorithm>

namespace inf {
namespace {

using Names = std::string_view;

constexpr Names chatmlControls[] = {"<|im_start|>", "<|im_end|>"};
constexpr Names chatmlStops[] = {"<|im_end|>"};
constexpr Names llama3Controls[] = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
                                    "<|eot_id|>"};
constexpr Names llama3Stops[] = {"<|eot_id|>"};
constexpr Names llama2Controls[] = {"<s>", "</s>"};
constexpr Names mistral3Controls[] = {"<s>", "</s>", "[INST]", "[/INST]"};
constexpr Names endOfText[] = {"</s>"};
constexpr Names phi3Controls[] = {"<|system|>", "<|user|>", "<|assistant|>", "<|end|>"};
constexpr Names phi3Stops[] = {"<|end|>"};

constexpr TemplateSpec chatml = {
    .name = "chatml",
    .controls = chatmlControls,
    .begin = "",
    .system = {"<|im_start|>system\n", "<|im_end|>\n"},
    .user = {"<|im_start|>user\n", "<|im_end|>\n"},
    .assistant = {"<|im_start|>assistant\n", "<|im_end|>\n"},
    .generation = "<|im_start|>assistant\n",
    .stops = chatmlStops,
};

constexpr TemplateSpec qwen(Names name, Names defaultSystem, ToolStyle tools, bool thinks) {
  TemplateSpec spec = chatml;
  spec.name = name;
  spec.defaultSystem = defaultSystem;
  spec.tools = tools;
  spec.thinks = thinks;
  return spec;
}

constexpr TemplateSpec llama3(Names name, ToolStyle tools, bool dates) {
  return {
      .name = name,
      .controls = llama3Controls,
      .begin = "<|begin_of_text|>",
      .system = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
      .user = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
      .assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
      .generation = "<|start_header_id|>assistant<|end_header_id|>\n\n",
      .stops = llama3Stops,
      .trims = true,
      .tools = tools,
      .dates = dates,
  };
}

constexpr TemplateSpec specs[] = {
    chatml,
    qwen("qwen2", "You are a helpful assistant.", ToolStyle::None, false),
    qwen("qwen2.5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
         ToolStyle::Tags, false),
    qwen("qwen3", "", ToolStyle::Tags, true),
    llama3("llama3", ToolStyle::None, false),
    llama3("llama3.1", ToolStyle::Llama, true),
    {
        .name = "llama2",
        .controls = llama2Controls,
        .begin = "",
        .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
        .user = {"<s>[INST] ", " [/INST]"},
        .assistant = {" ", " </s>"},
        .generation = "",
        .stops = endOfText,
        .systemPlace = SystemPlace::FirstUser,
        .trims = true,
        .alternates = true,
    },
    {
        .name = "mistral", // 7B Instruct v0.1 and v0.2
        .controls = llama2Controls,
        .begin = "<s>",
        .system = {"", "\n\n"},
        .user = {"[INST] ", " [/INST]"},
        .assistant = {"", "</s>"},
        .generation = "",
        .stops = endOfText,
        .systemPlace = SystemPlace::FirstUser,
        .alternates = true,
    },
    {
        .name = "mistral-v3", // [INST] is a control token
        .controls = mistral3Controls,
        .begin = "<s>",
        .system = {"", "\n\n"},
        .user = {"[INST] ", "[/INST]"},
        .assistant = {" ", "</s>"},
        .generation = "",
        .stops = endOfText,
        .systemPlace = SystemPlace::LastUser,
        .alternates = true,
    },
    {
        .name = "zephyr", // TinyLlama as well; <|user|> is no control token here
        .controls = endOfText,
        .begin = "",
        .system = {"<|system|>\n", "</s>\n"},
        .user = {"<|user|>\n", "</s>\n"},
        .assistant = {"<|assistant|>\n", "</s>\n"},
        .generation = "<|assistant|>\n",
        .stops = endOfText,
    },
    {
        .name = "phi3",
        .controls = phi3Controls,
        .begin = "",
        .system = {"<|system|>\n", "<|end|>\n"},
        .user = {"<|user|>\n", "<|end|>\n"},
        .assistant = {"<|assistant|>\n", "<|end|>\n"},
        .generation = "<|assistant|>\n",
        .stops = phi3Stops,
    },
};

/// A template that contains all `needles` is of this format; the first row that fits counts.
struct Recognition {
  Names format, needles[3];
};

constexpr Recognition recognitions[] = {
    {"qwen3", {"<|im_start|>", "<think>", "<tool_call>"}},
    {"qwen2.5", {"<|im_start|>", "You are Qwen, created by Alibaba Cloud", "<tool_call>"}},
    {"qwen2", {"<|im_start|>", "You are a helpful assistant.", ""}},
    {"chatml", {"<|im_start|>", "<|im_end|>", ""}},
    {"llama3.1", {"<|start_header_id|>", "Cutting Knowledge Date", "<|eot_id|>"}},
    {"llama3", {"<|start_header_id|>", "<|eot_id|>", ""}},
    {"phi3", {"<|user|>", "<|end|>", "<|assistant|>"}},
    {"zephyr", {"<|user|>", "<|assistant|>", "eos_token"}},
    {"llama2", {"[INST]", "<<SYS>>", ""}},
    {"mistral-v3", {"[INST]", "[AVAILABLE_TOOLS]", ""}},
    {"mistral", {"[INST]", "[/INST]", "eos_token"}},
};

} // namespace

std::span<const TemplateSpec> templateSpecs() { return specs; }

const TemplateSpec *templateNamed(std::string_view name) {
  auto found = std::find_if(std::begin(specs), std::end(specs),
                            [&](const TemplateSpec &spec) { return spec.name == name; });
  return found == std::end(specs) ? nullptr : &*found;
}

const TemplateSpec *templateOf(std::string_view jinja) {
  for (const Recognition &row : recognitions)
    if (std::all_of(std::begin(row.needles), std::end(row.needles),
                    [&](Names needle) { return jinja.find(needle) != Names::npos; }))
      return templateNamed(row.format);
  return nullptr;
}

} // namespace inf
