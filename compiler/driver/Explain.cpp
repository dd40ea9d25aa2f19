#include "compiler/driver/Explain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "codegen/KernelSpec.h"
#include "codegen/Target.h"

namespace inf {
namespace {

/// `spec` as row `choice` of the table would make it; nullopt when the row is about something else.
std::optional<KernelSpec> byRow(KernelSpec spec, const KernelChoice &choice) {
  const WeightFormat format = spec.op == KernelOp::Linear ? spec.weights : spec.kv;
  if (choice.op != spec.op || choice.format != format || choice.inputs != spec.inputs)
    return std::nullopt;
  spec.isa = choice.isa;
  spec.order = choice.order;
  if (spec.op == KernelOp::Linear)
    spec.rows = choice.rows;
  return spec;
}

/// Why a row was passed over; "" when it fits.
std::string whyNot(const KernelSpec &spec, const KernelChoice &choice, const Target &target) {
  const FeatureSet missing = target.features.missing(kernelFeatures(spec));
  if (!missing.empty())
    return fmt::format("target {} lacks {}", target.name, missing.toString());
  if (target.features.hasAny(choice.slowWith))
    return fmt::format("target {} has {}: {}", target.name, choice.slowWith.toString(), choice.why);
  if (spec.op == KernelOp::Attention && spec.group < choice.fewestHeads)
    return fmt::format("{} heads share a kv head, and it is slow for fewer than {}", spec.group,
                       choice.fewestHeads);
  return whyNotGenerable(spec).value_or("");
}

std::string rowText(size_t number, const KernelChoice &choice) {
  return fmt::format("row {:2} {:11}", number, kernelIsaName(choice.isa));
}

/// The walk down the table that selection makes. Later rows were not looked at.
std::string walkText(const KernelSpec &taken, const Target &target) {
  std::string text;
  for (size_t i = 0; i < kernelTable().size(); ++i) {
    const KernelChoice &choice = kernelTable()[i];
    const std::optional<KernelSpec> candidate = byRow(taken, choice);
    if (!candidate)
      continue;
    const std::string reason = whyNot(*candidate, choice, target);
    if (*candidate == taken && reason.empty())
      return text + fmt::format("    {} taken: {}; needs {}\n", rowText(i + 1, choice), choice.why,
                                kernelFeatures(taken).toString());
    if (reason.empty()) // selection would have stopped here
      return text + fmt::format("    {} fits; {} rows of {} were set in the IR instead\n",
                                rowText(i + 1, choice), taken.rows, kernelIsaName(taken.isa));
    text += fmt::format("    {} no: {}\n", rowText(i + 1, choice), reason);
  }
  return text + "    in no row of the table: set in the IR\n";
}

std::string kernelText(const KernelUse &kernel, const Target &target) {
  std::string text =
      fmt::format("  {}\n    for {}\n", kernel.symbol, fmt::join(kernel.usedBy, "; "));
  const std::optional<KernelSpec> spec = parseKernelSymbol(kernel.symbol);
  return text +
         (spec ? walkText(*spec, target) : "    of another release: its table is not known here\n");
}

std::string storedText(const WeightDecl &decl) {
  std::set<std::string_view> formats;
  for (const WeightPart &part : decl.parts)
    formats.insert(weightFormatName(part.stored));
  return fmt::format("{}", fmt::join(formats, "+"));
}

/// "layers.*.attention.q.weight": what differs by layer alone is said once.
std::string withoutLayer(const std::string &name) {
  constexpr std::string_view prefix = "layers.";
  const size_t end = name.find('.', prefix.size());
  if (!name.starts_with(prefix) || end == std::string::npos)
    return name;
  return "layers.*" + name.substr(end);
}

std::string formatsText(const Manifest &manifest) {
  struct Group {
    std::vector<std::string> names; ///< each once, in order
    size_t weights = 0;
  };
  std::map<std::string, Group> groups;
  for (const PackedWeight &weight : manifest.weights) {
    const std::string from = weight.formatFrom.empty() ? "set in the IR" : weight.formatFrom;
    Group &group =
        groups[fmt::format("{} (checkpoint: {}): {}", weightFormatName(weight.spec.format),
                           storedText(weight.decl), from)];
    const std::string name = withoutLayer(weight.decl.name);
    if (std::find(group.names.begin(), group.names.end(), name) == group.names.end())
      group.names.push_back(name);
    ++group.weights;
  }
  std::string text;
  for (const auto &[what, group] : groups)
    text += fmt::format("  {}\n    {} weights: {}\n", what, group.weights,
                        fmt::join(group.names, ", "));
  return text;
}

} // namespace

std::string explainText(const PayloadInfo &info) {
  const Manifest &manifest = info.manifest;
  const Target target = targetByName(manifest.target);
  std::string text = fmt::format(
      "{} for target {}: {}\n{}\n\n"
      "kernels: the first row of the kernel table (`infc kernels`) that the target can run\n",
      manifest.modelName, target.name, target.features.toString(), manifest.numerics);
  for (const KernelUse &kernel : manifest.kernels)
    text += kernelText(kernel, target);
  return text + "\nformats: --quant, rules by name before its base\n" + formatsText(manifest);
}

} // namespace inf
