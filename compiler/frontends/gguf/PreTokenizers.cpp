#include "compiler/frontends/gguf/PreTokenizers.h"

namespace inf {
namespace {

using Patterns = std::span<const std::string_view>;

// The patterns that the models' own tokenizer.json files have.
constexpr std::string_view llama3[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view qwen2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view qwen35[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view o200k[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view tekken[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view deepseek3[] = {
    R"(\p{N}{1,3})", R"([一-龥぀-ゟ゠-ヿ]+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view digits[] = {R"(\p{N})"};

//                                     patterns  GPT-2  whole  begin  NFC
constexpr GgufPreTokenizer known[] = {
    {"gpt-2", {}, true, false, false, false},
    {"mpt", {}, true, false, false, false},
    {"olmo", {}, true, false, false, false},
    {"phi-2", {}, true, false, false, false},
    {"jais", {}, true, false, false, false},
    {"starcoder", digits, true, false, false, false},
    {"refact", digits, true, false, false, false},
    {"command-r", digits, true, false, false, false},
    {"smollm", digits, true, false, false, false},
    {"codeshell", digits, true, false, false, false},
    {"llama-bpe", llama3, false, true, true, false},
    {"llama3", llama3, false, true, true, false},
    {"llama-v3", llama3, false, true, true, false},
    {"dbrx", llama3, false, false, false, false},
    {"smaug-bpe", llama3, false, false, false, false},
    {"qwen2", qwen2, false, false, false, true},
    {"deepseek-r1-qwen", qwen2, false, false, false, true},
    {"qwen35", qwen35, false, false, false, true},
    {"gpt-4o", o200k, false, false, false, false},
    {"tekken", tekken, false, true, true, false},
    {"deepseek-v3", deepseek3, false, false, false, false},
};

} // namespace

std::span<const GgufPreTokenizer> ggufPreTokenizers() { return known; }

} // namespace inf
