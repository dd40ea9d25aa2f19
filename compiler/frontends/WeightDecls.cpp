#include <optional>
#include <set>

#include "compiler/frontends/Limits.h"
#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/WeightShapes.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

bool isGateUp(const WeightDecl &decl) { return decl.name.find(".gate_up.") != std::string::npos; }

/// Parts without rows share what the others leave, equally.
void shareRows(WeightDecl &decl) {
  uint64_t left = decl.rows, open = 0;
  for (const WeightPart &part : decl.parts) {
    if (part.rows > left)
      fail(ErrorCode::BadInput, "weight {}: its parts have more than its {} rows; check \"rows\"",
           decl.name, decl.rows);
    left -= part.rows;
    open += part.rows == 0;
  }
  bool fits = open == 0 ? left == 0 : left > 0 && left % open == 0;
  if (!fits)
    fail(ErrorCode::BadInput,
         "weight {}: {} of its {} rows are left for {} parts without \"rows\"; expected equal "
         "parts, write \"rows\" on each",
         decl.name, left, decl.rows, open);
  for (WeightPart &part : decl.parts)
    if (part.rows == 0)
      part.rows = left / open;
}

/// Storage that the weight's shape does not allow.
std::optional<std::string> whyNotStored(const WeightDecl &decl, const WeightPart &part) {
  const std::string_view format = weightFormatName(part.stored);
  if (isBlockFormat(part.stored) && decl.isVector())
    return fmt::format("a vector cannot be stored as {}; expected f32, f16 or bf16", format);
  if (isBlockFormat(part.stored) && decl.columns % blockColumns != 0)
    return fmt::format("{} needs columns in multiples of {}, found {}", format, blockColumns,
                       decl.columns);
  if (part.transposed && decl.isVector())
    return "a vector cannot be transposed";
  if (isPerExpert(part) && decl.experts == 1)
    return fmt::format("{} names an expert, but the weight has none", expertMark);
  if (isPerExpert(part) && decl.experts > maxExpertTensors)
    return fmt::format("{} stands for {} experts, expected at most {} of a tensor each", expertMark,
                       decl.experts, maxExpertTensors);
  if (part.interleaved && (!isGateUp(decl) || decl.parts.size() != 1))
    return "only a gate_up weight of one part can be interleaved";
  return std::nullopt;
}

class DeclBuilder {
public:
  explicit DeclBuilder(const ModelDesc &description) : desc(description) {}

  void add(const WeightShape &shape, std::optional<uint64_t> layer) {
    patterns.insert(shape.name);
    std::string name = layer ? atLayer(shape.name, *layer) : shape.name;
    const TensorRule *rule = findRule(name, shape.name);
    if (!rule) {
      missing.insert(shape.name);
      return;
    }
    WeightDecl decl{name, shape.experts, shape.rows, shape.columns, rule->parts};
    resolve(decl, layer);
    decls.push_back(std::move(decl));
  }

  std::vector<WeightDecl> finish() {
    refuseUnmatched();
    return std::move(decls);
  }

private:
  const TensorRule *findRule(const std::string &name, const std::string &pattern) {
    bool tied = desc.tiedEmbeddings && name == "lm_head.weight";
    // A rule for one layer's weight goes before the rule for all layers.
    for (const std::string &key : {tied ? std::string("embedding.weight") : name, pattern}) {
      auto found = desc.tensors.find(key);
      if (found == desc.tensors.end())
        continue;
      used.insert(key);
      return &found->second;
    }
    return nullptr;
  }

  static void resolve(WeightDecl &decl, std::optional<uint64_t> layer) {
    shareRows(decl);
    for (WeightPart &part : decl.parts) {
      if (auto reason = whyNotStored(decl, part))
        fail(ErrorCode::BadInput, "weight {}, tensor {}: {}", decl.name, quoteShort(part.tensor),
             *reason);
      for (std::string *tensor : {&part.tensor, &part.scales}) {
        if (!layer && tensor->find(layerMark) != std::string::npos)
          fail(ErrorCode::BadInput, "weight {}: tensor {} names a layer, but it is outside of them",
               decl.name, quoteShort(*tensor));
        *tensor = layer ? atLayer(*tensor, *layer) : *tensor;
      }
    }
  }

  /// Suggestions for the names that will be shown only: a file may hold very many.
  std::vector<std::string> unusedRules() const {
    std::vector<std::string> known(patterns.begin(), patterns.end()), unused;
    for (const auto &[name, rule] : desc.tensors)
      if (!used.count(name))
        unused.push_back(quoteShort(name) +
                         (unused.size() < shownNames ? suggestion(name, known) : ""));
    return unused;
  }

  void refuseUnmatched() const {
    std::vector<std::string> unused = unusedRules();
    std::string message;
    if (!missing.empty())
      message += fmt::format(" {} weights have no rule in \"tensors\": {}.", missing.size(),
                             firstNames({missing.begin(), missing.end()}));
    if (!unused.empty())
      message += fmt::format(" {} rules in \"tensors\" name no weight of this model: {}.",
                             unused.size(), firstNames(unused));
    if (!message.empty())
      fail(ErrorCode::BadInput, "model description {}:{}", quoteShort(desc.name), message);
  }

  const ModelDesc &desc;
  std::vector<WeightDecl> decls;
  std::set<std::string> used, patterns, missing;
};

} // namespace

std::vector<WeightDecl> weightDecls(const ModelDesc &desc) {
  validate(desc);
  DeclBuilder builder(desc);
  for (const WeightShape &shape : headWeights(desc))
    builder.add(shape, std::nullopt);
  for (uint64_t layer = 0; layer < desc.layers.size(); ++layer)
    for (const WeightShape &shape : blockWeights(desc, desc.blocks.at(desc.layers[layer])))
      builder.add(shape, layer);
  for (const WeightShape &shape : tailWeights(desc))
    builder.add(shape, std::nullopt);
  return builder.finish();
}

} // namespace inf
