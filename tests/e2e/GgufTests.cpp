// GGUF files, through the programs: they compute what they mean, and every way in gives one model.
#include <gtest/gtest.h>

#include "tests/compiler/frontends/GgufBuilder.h"
#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;

namespace {

const std::string ids = "1,2,3,4,5,6,7,0,1,3,5,2,2,7";

class Gguf : public testing::Test {
protected:
  std::string written(const GgufBuilder &builder) {
    writeBytes(folder / "model.gguf", builder.file());
    return folder / "model.gguf";
  }

  /// Logits of the compiled file, compared by `infc reference` with what the file means.
  void expectMatchesMeaning(const std::string &path, const Arguments &rounding,
                            const char *tolerance) {
    writeBytes(folder / "ids.jsonl", "{\"ids\": [" + ids + "]}\n");
    Arguments compile{"compile", path, "-q", "-o", folder / "m.so"};
    compile.insert(compile.end(), rounding.begin(), rounding.end());
    const Finished compiled = infc(compile);
    ASSERT_EQ(compiled.code, 0) << compiled.err;
    const Finished scored = infrun({"score", folder / "m.so", "--ids", folder / "ids.jsonl",
                                    "--logits", folder / "logits.safetensors"});
    ASSERT_EQ(scored.code, 0) << scored.err;
    Arguments reference{"reference",   path,        "--ids",
                        ids,           "--compare", folder / "logits.safetensors",
                        "--tolerance", tolerance};
    reference.insert(reference.end(), rounding.begin() + 1, rounding.end()); // no tokenizer anyway
    const Finished compared = infc(reference);
    EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
  }

  TempFolder folder;
};

// Sums in another order; with int8 rows a value in the middle between two steps may go either way.
// Logits of these random models reach 74.
constexpr char sameSums[] = "2e-3", sameSteps[] = "5e-2";

} // namespace

TEST_F(Gguf, gptOssComputesWhatItsFileMeans) {
  const std::string path = written(smallGptOss());
  expectMatchesMeaning(path, {"--no-tokenizer", "--quant=none", "--kv=f32"}, sameSums);
  expectMatchesMeaning(path, {"--no-tokenizer", "--kv=f32"}, sameSteps);
}

TEST_F(Gguf, llamaComputesWhatItsFileMeans) {
  const std::string path = written(smallLlama());
  for (const char *quant : {"int8", "int4"})
    expectMatchesMeaning(path, {"--no-tokenizer", "--kv=f32", std::string("--quant=") + quant},
                         sameSteps);
  expectMatchesMeaning(path, {"--no-tokenizer", "--kv=f32", "--quant=none"}, sameSums);
}

TEST_F(Gguf, relativesOfLlamaComputeWhatTheirFilesMean) {
  for (const char *architecture : {"qwen2", "qwen3", "qwen3moe", "llama"}) {
    SCOPED_TRACE(architecture);
    const std::string path = written(smallRelative(architecture));
    expectMatchesMeaning(path, {"--no-tokenizer", "--kv=f32", "--quant=none"}, sameSums);
  }
}

TEST_F(Gguf, itsDescriptionAndItsIrGiveTheSameModel) {
  const std::string path = written(smallGptOss());
  ASSERT_EQ(infc({"import", path, "-o", folder / "model.json"}).code, 0);
  const Finished direct = infc({"compile", path, "-q", "--no-tokenizer", "--target=avx2",
                                "--save-ir=" + folder / "ir", "-o", folder / "direct.so"});
  ASSERT_EQ(direct.code, 0) << direct.err;
  const Finished described = infc({"compile", folder / "model.json", "-q", "--no-tokenizer",
                                   "--target=avx2", "-o", folder / "described.so"});
  ASSERT_EQ(described.code, 0) << described.err;
  const Finished resumed = infc({"compile", folder / "ir/00-import.mlir", "-q", "--no-tokenizer",
                                 "--target=avx2", "-o", folder / "resumed.so"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(readBytes(folder / "direct.so") == readBytes(folder / "described.so"));
  EXPECT_TRUE(readBytes(folder / "direct.so") == readBytes(folder / "resumed.so"));
}

TEST_F(Gguf, aTokenizerThatIsNotReadIsRefusedNamingTheWayOut) {
  GgufBuilder builder = smallLlama();
  builder.text("tokenizer.ggml.model", "t5");
  const std::string path = written(builder);
  expectRefused(infc({"compile", path, "-q", "-o", folder / "m.so"}), 4,
                {"\"t5\"", "--no-tokenizer"});
  EXPECT_EQ(infc({"compile", path, "-q", "--no-tokenizer", "-o", folder / "m.so"}).code, 0);
}

TEST_F(Gguf, aDamagedFileLeavesNoModelBehind) {
  std::string file = smallGptOss().file();
  file.resize(file.size() / 2);
  writeBytes(folder / "model.gguf", file);
  expectRefused(infc({"compile", folder / "model.gguf", "-q", "-o", folder / "m.so"}), 4,
                {"model.gguf"});
  EXPECT_EQ(folder.names().size(), 1u) << "only the file itself";
}
