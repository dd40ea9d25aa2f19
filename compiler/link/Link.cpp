#include "compiler/link/Link.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include "runtime/base/Error.h"

LLD_HAS_DRIVER(elf)

namespace inf {
namespace {

/// Files of one link; removed when it ends, however it ends.
class TemporaryFiles {
public:
  explicit TemporaryFiles(const std::string &workPath)
      : prefix(fmt::format("{}.link-{}", workPath, ::getpid())) {}
  ~TemporaryFiles() {
    std::error_code ignored;
    for (const std::string &path : paths)
      std::filesystem::remove(path, ignored);
  }
  std::string add(const std::string &suffix) { return paths.emplace_back(prefix + suffix); }

private:
  std::string prefix;
  std::vector<std::string> paths;
};

void writeFile(const std::string &path, const std::vector<uint8_t> &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  file.close();
  if (!file)
    fail(ErrorCode::Io, "writing {} ({} bytes) failed: {}; free space there or choose another -o",
         path, bytes.size(), errnoText(errno));
}

std::vector<uint8_t> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty())
    fail(ErrorCode::Io, "reading back {} failed: {}", path, errnoText(errno));
  return bytes;
}

} // namespace

std::vector<uint8_t> linkSharedLibrary(const std::vector<std::vector<uint8_t>> &objects,
                                       const std::string &exportedSymbol,
                                       const std::string &workPath) {
  TemporaryFiles files(workPath);
  std::string output = files.add(".so");
  std::string versions = files.add(".map");
  std::string script = fmt::format("{{ global: {}; local: *; }};\n", exportedSymbol);
  writeFile(versions, {script.begin(), script.end()});
  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "-z",
                                        "defs",
                                        "-z",
                                        "noexecstack",
                                        "--hash-style=gnu",
                                        "--build-id=none",
                                        "--no-rosegment",
                                        "--version-script=" + versions,
                                        "-o",
                                        output};
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back(files.add(fmt::format(".{}.o", i)));
    writeFile(arguments.back(), objects[i]);
  }
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(pointers, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  // lld has no error codes. A message about the output itself is about the disk, not about us.
  if (result.retCode != 0 && stream.str().find(output) != std::string::npos)
    fail(ErrorCode::Io, "linking the model failed: {}; free space there or choose another -o",
         llvm::StringRef(stream.str()).trim().str());
  if (result.retCode != 0)
    fail(ErrorCode::Internal, "linking the model failed: {}", stream.str());
  return readFile(output);
}

} // namespace inf
