#include "runtime/format/WeightDecl.h"

#include <fmt/format.h>

namespace inf {

namespace {

/// One name with a mark asks for so many tensors at most: a short file may not cost endless work.
constexpr uint64_t mostExpertTensors = 2048;

std::optional<std::string> whyPartMalformed(const WeightDecl &decl, const WeightPart &part) {
  if (part.tensor.empty())
    return "a part names no tensor";
  if (!part.scales.empty() &&
      isPerExpert(part) != (part.scales.find(expertMark) != std::string::npos))
    return fmt::format("'{}' and '{}': expected {} in both names or in neither", part.tensor,
                       part.scales, expertMark);
  if (isPerExpert(part) && decl.experts > mostExpertTensors)
    return fmt::format("'{}' stands for {} tensors, expected at most {}", part.tensor, decl.experts,
                       mostExpertTensors);
  if (part.rows == 0)
    return fmt::format("the part from '{}' has no rows", part.tensor);
  if (uint32_t(part.stored) >= weightFormatNames.size())
    return fmt::format("'{}' has stored format {}, expected below {}", part.tensor,
                       uint32_t(part.stored), weightFormatNames.size());
  if (part.interleaved && part.rows % 2 != 0)
    return fmt::format("'{}' is interleaved with {} rows, expected an even number", part.tensor,
                       part.rows);
  const std::string_view format = weightFormatName(part.stored);
  if (part.stored != WeightFormat::MXFP4 && !part.scales.empty())
    return fmt::format("'{}' is stored as {} with a scales tensor; only mxfp4 can have one",
                       part.tensor, format);
  if (isBlockFormat(part.stored) && part.transposed)
    return fmt::format("'{}' is stored as {} and transposed; blocks run along the columns",
                       part.tensor, format);
  if (isBlockFormat(part.stored) && decl.columns % blockColumns != 0)
    return fmt::format("'{}' is stored as {} with {} columns, expected a multiple of {}",
                       part.tensor, format, decl.columns, blockColumns);
  return std::nullopt;
}

} // namespace

bool isPerExpert(const WeightPart &part) {
  return part.tensor.find(expertMark) != std::string::npos;
}

std::string atExpert(std::string_view name, uint64_t expert) {
  std::string result;
  for (size_t mark; (mark = name.find(expertMark)) != std::string_view::npos;) {
    result.append(name.substr(0, mark)).append(std::to_string(expert));
    name.remove_prefix(mark + expertMark.size());
  }
  return result.append(name);
}

std::vector<PartTensors> tensorsOf(const WeightDecl &decl, const WeightPart &part) {
  if (!isPerExpert(part))
    return {{part.tensor, part.scales, decl.experts}};
  std::vector<PartTensors> tensors;
  for (uint64_t expert = 0; expert < decl.experts; ++expert)
    tensors.push_back({atExpert(part.tensor, expert), atExpert(part.scales, expert), 1});
  return tensors;
}

std::optional<std::string> whyMalformed(const WeightDecl &decl) {
  if (decl.experts == 0 || decl.rows == 0 || decl.columns == 0)
    return fmt::format("the shape is [{}, {}, {}], expected no zero", decl.experts, decl.rows,
                       decl.columns);
  // Far above any weight, and low enough that bytes, even of rows padded to panels, fit 64 bits.
  const uint64_t limit = uint64_t(1) << 50;
  if (decl.rows > limit / decl.columns || decl.rows * decl.columns > limit / decl.experts)
    return fmt::format("the shape [{}, {}, {}] has more than 2^50 elements", decl.experts,
                       decl.rows, decl.columns);
  uint64_t rows = 0;
  for (const WeightPart &part : decl.parts) {
    if (auto reason = whyPartMalformed(decl, part))
      return reason;
    if (part.rows > decl.rows - rows)
      return fmt::format("the parts have more than the weight's {} rows", decl.rows);
    rows += part.rows;
  }
  if (rows != decl.rows)
    return fmt::format("the parts have {} rows, expected {}", rows, decl.rows);
  return std::nullopt;
}

} // namespace inf
