#include "tests/runtime/session/FakeModel.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "runtime/abi/inf_abi.h"
#include "runtime/base/Error.h"
#include "runtime/session/Rope.h"
#include "tests/runtime/session/fake_model.h"

namespace inf::test {
namespace {

/// GPT-2's alphabet: printable bytes stand for themselves, the rest for U+0100 and up.
std::string alphabetCharacter(unsigned byte) {
  auto printable = [](unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  unsigned code = byte;
  if (!printable(byte)) {
    code = 256;
    for (unsigned b = 0; b < byte; ++b)
      code += !printable(b);
  }
  if (code < 128)
    return code == '"' || code == '\\' ? std::string("\\") + static_cast<char>(code)
                                       : std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
}

std::string fakeTokenizerJson() {
  std::string vocabulary;
  for (unsigned byte = 0; byte < 256; ++byte)
    vocabulary += fmt::format("\"{}\": {}, ", alphabetCharacter(byte), byte);
  vocabulary += R"("th": 256, "the": 257)";
  auto added = [](int32_t id, const char *text) {
    return fmt::format(R"({{"id": {}, "content": "{}", "single_word": false, "lstrip": false,
      "rstrip": false, "normalized": false, "special": true}})",
                       id, text);
  };
  return fmt::format(
      R"({{"version": "1.0", "truncation": null, "padding": null,
      "added_tokens": [{}, {}],
      "normalizer": null,
      "pre_tokenizer": {{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                         "use_regex": false}},
      "post_processor": null,
      "decoder": {{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                   "use_regex": true}},
      "model": {{"type": "BPE", "dropout": null, "unk_token": null,
                 "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
                 "byte_fallback": false, "ignore_merges": false,
                 "vocab": {{ {} }}, "merges": ["t h", "th e"]}} }})",
      added(endId, "<|end|>"), added(returnId, "<|return|>"), vocabulary);
}

KvGroup kvGroup(const char *name, uint64_t window, uint64_t blockTokens,
                std::vector<uint64_t> layers) {
  KvGroup group;
  group.name = name;
  group.elementFormat = "f32";
  group.window = window;
  group.blockTokens = blockTokens;
  group.blockBytes = layers.size() * 2 * FAKE_HEADS * blockTokens * FAKE_HEAD_DIM * 4;
  group.layers = std::move(layers);
  return group;
}

RopeTable ropeTable(const char *name, double factor, std::vector<double> frequencies) {
  RopeTable table;
  table.name = name;
  table.headDim = frequencies.size() * 2;
  table.attentionFactor = factor;
  table.inverseFrequencies = std::move(frequencies);
  return table;
}

PackedWeight fakeWeight() {
  WeightPart part;
  part.tensor = "scale";
  part.stored = WeightFormat::F32;
  part.rows = FAKE_WEIGHTS;
  PackedWeight weight;
  weight.decl = {"scale", 1, FAKE_WEIGHTS, 1, {part}};
  weight.spec = {WeightFormat::F32, PackedLayout::Vector};
  return weight;
}

std::vector<uint8_t> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail(ErrorCode::Io, "cannot read {}", path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

uint32_t ropeHash(const RopeTable &table, int32_t position) {
  inf_rope rope = {sizeof(inf_rope), static_cast<uint32_t>(table.headDim), table.attentionFactor,
                   table.inverseFrequencies.data()};
  std::vector<float> row(table.headDim);
  fillRopeRow(rope, position, row.data());
  uint32_t hash = 0;
  for (float value : row) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    hash = fakeMix(hash, bits);
  }
  return hash;
}

} // namespace

TempDirectory::TempDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "inf-test-XXXXXX";
  if (!mkdtemp(pattern.data()))
    fail(ErrorCode::Io, "cannot make {}", pattern);
  path = pattern;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

PayloadContents fakeContents() {
  PayloadContents contents;
  contents.buildId[0] = FAKE_BUILD_ID_LOW;
  contents.buildId[1] = FAKE_BUILD_ID_HIGH;
  contents.tokenizerJson = fakeTokenizerJson();
  Manifest &manifest = contents.manifest;
  manifest.abiVersion = INF_ABI_VERSION;
  manifest.modelName = "fake";
  manifest.architecture = "fake";
  manifest.target = "avx2";
  manifest.vocabulary = FAKE_VOCABULARY;
  manifest.hidden = FAKE_HIDDEN;
  manifest.layers = FAKE_LAYERS;
  manifest.maxContext = FAKE_CONTEXT;
  manifest.eosTokens = {returnId};
  manifest.weights = {fakeWeight()};
  manifest.bytesPerToken = 4;
  manifest.kvGroups = {kvGroup("full", 0, FAKE_FULL_BLOCK, {1}),
                       kvGroup("window20", FAKE_WINDOW, FAKE_WINDOW_BLOCK, {0, 2})};
  manifest.ropeTables = {ropeTable("full", 1.25, {1.0, 0.25, 0.0625, 0.015625}),
                         ropeTable("window", 1.0, {1.0, 0.01})};
  manifest.plan.maxRows = FAKE_MAX_ROWS;
  manifest.plan.maxOutputRows = FAKE_MAX_OUTPUT_ROWS;
  manifest.plan.arenaBytes = 64 * 4;
  manifest.plan.scratchBytes = 64;
  layoutWeights(manifest);
  return contents;
}

void writeFakeModel(const std::string &path, const FakeOptions &options) {
  PayloadContents contents = fakeContents();
  if (options.change)
    options.change(contents);
  std::vector<WeightDecl> decls;
  for (const PackedWeight &weight : contents.manifest.weights)
    decls.push_back(weight.decl);
  std::unique_ptr<WeightSource> source = makeRandomSource(options.seed, decls);
  writeModel(readFile(std::string(FAKE_MODEL_DIRECTORY "/") + options.code + ".so"), contents,
             options.weights ? source.get() : nullptr, path, 1, {});
}

std::shared_ptr<const Model> loadFakeModel(const FakeOptions &options) {
  TempDirectory directory; // a loaded model keeps its pages, not its name
  writeFakeModel(directory.file("fake.so"), options);
  return Model::load(directory.file("fake.so"));
}

uint32_t expectedState(const Model &model, std::span<const int32_t> tokens) {
  auto query = static_cast<int32_t>(tokens.size()) - 1;
  uint32_t state;
  std::memcpy(&state, model.weights().data() + tokens.back() % FAKE_WEIGHTS * 4, sizeof state);
  for (size_t g = 0; g < model.manifest().kvGroups.size(); ++g) {
    const KvGroup &group = model.manifest().kvGroups[g];
    auto window = static_cast<int32_t>(group.window);
    int32_t first = window ? std::max(0, query + 1 - window) : 0;
    std::vector<uint32_t> ropes;
    for (int32_t k = first; k <= query; ++k)
      ropes.push_back(ropeHash(model.manifest().ropeTables[g], k));
    for (uint64_t layer : group.layers)
      for (uint32_t h = 0; h < FAKE_HEADS; ++h)
        for (uint32_t d = 0; d < FAKE_HEAD_DIM; ++d) {
          uint32_t sum = 0;
          for (int32_t k = first; k <= query; ++k) {
            auto element = [&](uint32_t part) {
              return fakeElement(tokens[k], k, ropes[k - first], static_cast<uint32_t>(layer), h, d,
                                 part);
            };
            sum += fakeTerm(element(0), element(1), query, k);
          }
          state = fakeMix(state, sum);
        }
  }
  return state;
}

std::vector<float> expectedLogits(const Model &model, std::span<const int32_t> tokens) {
  uint32_t state = expectedState(model, tokens);
  std::vector<float> logits(FAKE_VOCABULARY);
  for (uint32_t v = 0; v < FAKE_VOCABULARY; ++v)
    logits[v] = fakeLogit(state, v);
  return logits;
}

std::vector<int32_t> someTokens(size_t count, uint64_t seed) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i)
    tokens[i] = static_cast<int32_t>(fakeMix(seed, i) % 256);
  return tokens;
}

std::string refusal(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return fmt::format("{}: {}", static_cast<int>(error.code), error.what());
  }
  return "not refused";
}

} // namespace inf::test
