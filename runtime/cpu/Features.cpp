#include "runtime/cpu/Features.h"

#include "runtime/base/Error.h"

#include <array>

namespace inf {
namespace {

constexpr unsigned featureCount = static_cast<unsigned>(Feature::Count);

/// A CPUID output register that holds feature bits.
enum class Word { Leaf1Ecx, Leaf7Ebx, Leaf7Ecx, Leaf7Edx, Leaf7Sub1Eax, Count };

/// Registers the OS must save in XCR0 before an instruction may touch them.
enum class State { None, Ymm, Zmm, Tile };

struct Row {
  Feature feature;
  std::string_view name;
  Word word;
  unsigned bit;
  State state;
  Feature needs; ///< useless without this one; itself when it stands alone
};

// In enum order; a row's `needs` comes before it, so one pass decides everything.
constexpr std::array<Row, featureCount> rows = {{
    {Feature::SSE42, "sse4_2", Word::Leaf1Ecx, 20, State::None, Feature::SSE42},
    {Feature::AVX, "avx", Word::Leaf1Ecx, 28, State::Ymm, Feature::AVX},
    {Feature::F16C, "f16c", Word::Leaf1Ecx, 29, State::Ymm, Feature::AVX},
    {Feature::FMA, "fma", Word::Leaf1Ecx, 12, State::Ymm, Feature::AVX},
    {Feature::AVX2, "avx2", Word::Leaf7Ebx, 5, State::Ymm, Feature::AVX},
    // BMI instructions are VEX encoded but touch only general registers: no state to save.
    {Feature::BMI1, "bmi1", Word::Leaf7Ebx, 3, State::None, Feature::BMI1},
    {Feature::BMI2, "bmi2", Word::Leaf7Ebx, 8, State::None, Feature::BMI2},
    {Feature::AVXVNNI, "avx_vnni", Word::Leaf7Sub1Eax, 4, State::Ymm, Feature::AVX2},
    {Feature::AVX512F, "avx512f", Word::Leaf7Ebx, 16, State::Zmm, Feature::AVX},
    {Feature::AVX512BW, "avx512bw", Word::Leaf7Ebx, 30, State::Zmm, Feature::AVX512F},
    {Feature::AVX512DQ, "avx512dq", Word::Leaf7Ebx, 17, State::Zmm, Feature::AVX512F},
    {Feature::AVX512VL, "avx512vl", Word::Leaf7Ebx, 31, State::Zmm, Feature::AVX512F},
    {Feature::AVX512CD, "avx512cd", Word::Leaf7Ebx, 28, State::Zmm, Feature::AVX512F},
    {Feature::AVX512VNNI, "avx512_vnni", Word::Leaf7Ecx, 11, State::Zmm, Feature::AVX512F},
    {Feature::AVX512BF16, "avx512_bf16", Word::Leaf7Sub1Eax, 5, State::Zmm, Feature::AVX512F},
    {Feature::AVX512VBMI, "avx512vbmi", Word::Leaf7Ecx, 1, State::Zmm, Feature::AVX512F},
    {Feature::AVX512VBMI2, "avx512_vbmi2", Word::Leaf7Ecx, 6, State::Zmm, Feature::AVX512F},
    {Feature::AVX512IFMA, "avx512ifma", Word::Leaf7Ebx, 21, State::Zmm, Feature::AVX512F},
    {Feature::AVX512BITALG, "avx512_bitalg", Word::Leaf7Ecx, 12, State::Zmm, Feature::AVX512F},
    {Feature::AVX512VPOPCNTDQ, "avx512_vpopcntdq", Word::Leaf7Ecx, 14, State::Zmm,
     Feature::AVX512F},
    {Feature::AVX512FP16, "avx512_fp16", Word::Leaf7Edx, 23, State::Zmm, Feature::AVX512BW},
    // GFNI has an SSE form; its wider forms need AVX or AVX512F, which a kernel lists as well.
    {Feature::GFNI, "gfni", Word::Leaf7Ecx, 8, State::None, Feature::GFNI},
    {Feature::AMXTILE, "amx_tile", Word::Leaf7Edx, 24, State::Tile, Feature::AMXTILE},
    {Feature::AMXINT8, "amx_int8", Word::Leaf7Edx, 25, State::Tile, Feature::AMXTILE},
    {Feature::AMXBF16, "amx_bf16", Word::Leaf7Edx, 22, State::Tile, Feature::AMXTILE},
    {Feature::AMXFP16, "amx_fp16", Word::Leaf7Sub1Eax, 21, State::Tile, Feature::AMXTILE},
}};

constexpr bool rowsAreInEnumOrder() {
  for (unsigned i = 0; i < rows.size(); ++i)
    if (static_cast<unsigned>(rows[i].feature) != i || static_cast<unsigned>(rows[i].needs) > i ||
        rows[i].name.empty())
      return false;
  return true;
}
static_assert(rowsAreInEnumOrder());
static_assert(featureCount <= 64, "FeatureSet holds 64 bits");

// XCR0: bit 1 xmm, bit 2 ymm, bits 5-7 opmask, zmm0-15 upper halves, zmm16-31, bits 17-18 tiles.
constexpr uint64_t ymmMask = 0x6, zmmMask = 0xe6, tileMask = 0x60000;
constexpr uint32_t osxsaveBit = 27;

using Words = std::array<uint32_t, static_cast<size_t>(Word::Count)>;

uint32_t &at(Words &words, Word word) { return words[static_cast<size_t>(word)]; }

Words readWords(const CpuidSource &source, uint32_t maxLeaf) {
  Words words = {};
  if (maxLeaf >= 1)
    at(words, Word::Leaf1Ecx) = source.cpuid(1, 0).ecx;
  if (maxLeaf < 7)
    return words;
  const CpuidSource::Regs leaf7 = source.cpuid(7, 0);
  at(words, Word::Leaf7Ebx) = leaf7.ebx;
  at(words, Word::Leaf7Ecx) = leaf7.ecx;
  at(words, Word::Leaf7Edx) = leaf7.edx;
  if (leaf7.eax >= 1) // EAX of 7/0 is the highest subleaf
    at(words, Word::Leaf7Sub1Eax) = source.cpuid(7, 1).eax;
  return words;
}

/// What the OS lets us use, each with the words for a notice when it does not.
struct OsSupport {
  bool osxsave = false, ymm = false, zmm = false, tile = false, amxPermission = false;
};

OsSupport readOsSupport(const CpuidSource &source, Words &words) {
  OsSupport os;
  os.osxsave = at(words, Word::Leaf1Ecx) >> osxsaveBit & 1;
  if (!os.osxsave || !source.xcr0)
    return os;
  const uint64_t xcr0 = source.xcr0();
  os.ymm = (xcr0 & ymmMask) == ymmMask;
  os.zmm = (xcr0 & zmmMask) == zmmMask;
  os.tile = (xcr0 & tileMask) == tileMask;
  // Asking changes the process (its signal frames grow by 8 KiB), so only ask when AMX is there.
  const bool reported =
      at(words, Word::Leaf7Edx) >> rows[static_cast<size_t>(Feature::AMXTILE)].bit & 1;
  if (os.tile && reported && source.requestAmxPermission)
    os.amxPermission = source.requestAmxPermission();
  return os;
}

/// Empty when the OS allows this state, else why not.
std::string_view refusal(State state, const OsSupport &os) {
  if (state == State::None)
    return {};
  if (!os.osxsave)
    return "the OS has not enabled XSAVE";
  if (state == State::Ymm)
    return os.ymm ? "" : "the OS does not save ymm registers";
  if (state == State::Zmm)
    return os.zmm ? "" : "the OS does not save zmm registers";
  if (!os.tile)
    return "the OS does not save tile registers";
  return os.amxPermission ? "" : "the kernel refused the permission to use tiles";
}

void decide(const Row &row, const OsSupport &os, CpuFeatures &result) {
  if (const std::string_view why = refusal(row.state, os); !why.empty())
    result.notices.push_back(fmt::format("{} is reported but {}", row.name, why));
  else if (row.needs != row.feature && !result.usable.has(row.needs))
    result.notices.push_back(
        fmt::format("{} is reported but {} is not usable", row.name, featureName(row.needs)));
  else
    result.usable = result.usable.with(row.feature);
}

/// CPUID text can come from a hypervisor's configuration: keep printable ASCII, trim spaces.
std::string printable(std::string_view raw) {
  std::string text;
  for (const char c : raw.substr(0, raw.find('\0')))
    text += c >= 0x20 && c < 0x7f ? c : '?';
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos)
    return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

void appendBytes(std::string &text, std::initializer_list<uint32_t> regs) {
  for (const uint32_t reg : regs)
    for (unsigned shift = 0; shift < 32; shift += 8)
      text += static_cast<char>(reg >> shift & 0xff);
}

std::string readBrand(const CpuidSource &source) {
  constexpr uint32_t first = 0x80000002, last = 0x80000004;
  const uint32_t maxExtended = source.cpuid(0x80000000, 0).eax;
  if (maxExtended < last)
    return {};
  std::string raw;
  for (uint32_t leaf = first; leaf <= last; ++leaf) {
    const CpuidSource::Regs regs = source.cpuid(leaf, 0);
    appendBytes(raw, {regs.eax, regs.ebx, regs.ecx, regs.edx});
  }
  return printable(raw);
}

} // namespace

std::vector<std::string> FeatureSet::names() const {
  std::vector<std::string> result;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (!(bits >> bit & 1))
      continue;
    result.push_back(bit < featureCount ? std::string(rows[bit].name)
                                        : fmt::format("feature-bit-{}", bit));
  }
  return result;
}

std::string FeatureSet::toString() const { return fmt::format("{}", fmt::join(names(), ", ")); }

std::string_view featureName(Feature f) {
  const auto index = static_cast<unsigned>(f);
  return index < featureCount ? rows[index].name : "unknown";
}

std::optional<Feature> featureByName(std::string_view name) {
  for (const Row &row : rows)
    if (row.name == name)
      return row.feature;
  return std::nullopt;
}

CpuFeatures detectFeatures(const CpuidSource &source) {
  if (!source.cpuid)
    fail(ErrorCode::Internal, "detectFeatures: expected a cpuid function, got none; "
                              "pass hostCpuid() or a complete fake");
  const CpuidSource::Regs leaf0 = source.cpuid(0, 0);
  CpuFeatures result;
  std::string vendor;
  appendBytes(vendor, {leaf0.ebx, leaf0.edx, leaf0.ecx});
  result.vendor = printable(vendor);
  result.brand = readBrand(source);
  Words words = readWords(source, leaf0.eax);
  const OsSupport os = readOsSupport(source, words);
  for (const Row &row : rows)
    if (at(words, row.word) >> row.bit & 1)
      decide(row, os, result);
  return result;
}

} // namespace inf
