// Names of kernels, both ways. A name parses only when writing the result gives the same name, so
// there is exactly one spelling for each kernel.
#include "codegen/KernelSpec.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace inf {
namespace {

constexpr std::string_view linearPrefix = "inf_linear_";
constexpr std::string_view attentionPrefix = "inf_attention_";

/// In the order of KernelIsa and of InputFormat.
constexpr std::array<std::string_view, 7> isaNames = {
    "avx2", "avxvnni", "avx512", "avx512vnni", "avx512vbmi", "avx512bf16", "amx"};
constexpr std::array<std::string_view, 3> inputNames = {"f32", "q8", "bf16"};

std::string_view activationSuffix(Activation activation) {
  switch (activation) {
  case Activation::None:
    return "";
  case Activation::Swiglu:
    return "_swiglu";
  case Activation::SwigluClamped:
    return "_swigluclamped";
  }
  return "";
}

std::string linearSymbol(const KernelSpec &spec) {
  return fmt::format(
      "{}{}_{}_r{}{}{}{}{}{}{}__{}", linearPrefix, weightFormatName(spec.weights),
      inputFormatName(spec.inputs), spec.rows, spec.order == Bf16Order::Groups ? "_by32" : "",
      spec.bias ? "_bias" : "", spec.scale ? "_scale" : "", spec.addend ? "_addend" : "",
      activationSuffix(spec.activation), spec.residual ? "_residual" : "", kernelIsaName(spec.isa));
}

std::string attentionSymbol(const KernelSpec &spec) {
  return fmt::format("{}{}_d{}_g{}_b{}{}{}{}__{}", attentionPrefix, weightFormatName(spec.kv),
                     spec.headDim, spec.group, spec.blockTokens, spec.sinks ? "_sinks" : "",
                     spec.inputs == InputFormat::BF16 ? "_bf16dots" : "",
                     spec.order == Bf16Order::Groups ? "_by32" : "", kernelIsaName(spec.isa));
}

/// Eats `word` from the front of `text`.
bool eat(std::string_view &text, std::string_view word) {
  if (!text.starts_with(word))
    return false;
  text.remove_prefix(word.size());
  return true;
}

/// Eats a decimal number that fits into unsigned.
bool eatNumber(std::string_view &text, unsigned &number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc())
    return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool eatFormat(std::string_view &text, WeightFormat &format) {
  const std::string_view word = text.substr(0, text.find('_'));
  const std::optional<WeightFormat> found = weightFormatByName(word);
  if (!found)
    return false;
  format = *found;
  return eat(text, word);
}

bool eatInputs(std::string_view &text, InputFormat &inputs) {
  for (size_t i = 0; i < inputNames.size(); ++i)
    if (eat(text, inputNames[i])) {
      inputs = static_cast<InputFormat>(i);
      return true;
    }
  return false;
}

/// The isa is all that is left of the text.
bool eatIsa(std::string_view text, KernelIsa &isa) {
  const auto found = std::find(isaNames.begin(), isaNames.end(), text);
  if (found == isaNames.end())
    return false;
  isa = static_cast<KernelIsa>(found - isaNames.begin());
  return true;
}

bool parseLinear(std::string_view text, KernelSpec &spec) {
  spec.op = KernelOp::Linear;
  if (!eatFormat(text, spec.weights) || !eat(text, "_") || !eatInputs(text, spec.inputs) ||
      !eat(text, "_r") || !eatNumber(text, spec.rows))
    return false;
  spec.order = eat(text, "_by32") ? Bf16Order::Groups : Bf16Order::Pairs;
  spec.bias = eat(text, "_bias");
  spec.scale = eat(text, "_scale");
  spec.addend = eat(text, "_addend");
  if (eat(text, "_swigluclamped"))
    spec.activation = Activation::SwigluClamped;
  else if (eat(text, "_swiglu"))
    spec.activation = Activation::Swiglu;
  spec.residual = eat(text, "_residual");
  return eat(text, "__") && eatIsa(text, spec.isa);
}

bool parseAttention(std::string_view text, KernelSpec &spec) {
  spec.op = KernelOp::Attention;
  if (!eatFormat(text, spec.kv) || !eat(text, "_d") || !eatNumber(text, spec.headDim) ||
      !eat(text, "_g") || !eatNumber(text, spec.group) || !eat(text, "_b") ||
      !eatNumber(text, spec.blockTokens))
    return false;
  spec.sinks = eat(text, "_sinks");
  if (eat(text, "_bf16dots"))
    spec.inputs = InputFormat::BF16;
  spec.order = eat(text, "_by32") ? Bf16Order::Groups : Bf16Order::Pairs;
  return eat(text, "__") && eatIsa(text, spec.isa);
}

} // namespace

std::string_view kernelIsaName(KernelIsa isa) { return isaNames[static_cast<size_t>(isa)]; }
std::string_view inputFormatName(InputFormat inputs) {
  return inputNames[static_cast<size_t>(inputs)];
}

std::string kernelSymbol(const KernelSpec &spec) {
  return spec.op == KernelOp::Linear ? linearSymbol(spec) : attentionSymbol(spec);
}

std::optional<KernelSpec> parseKernelSymbol(std::string_view symbol) {
  KernelSpec spec;
  std::string_view rest = symbol;
  const bool parsed = eat(rest, linearPrefix)      ? parseLinear(rest, spec)
                      : eat(rest, attentionPrefix) ? parseAttention(rest, spec)
                                                   : false;
  if (!parsed || kernelSymbol(spec) != symbol) // "r01" is not how we write r1
    return std::nullopt;
  return spec;
}

} // namespace inf
