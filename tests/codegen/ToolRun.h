// Runs one of LLVM's command-line tools on files of a temporary folder and keeps what it printed.
#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace inf::test {

struct ToolResult {
  int status;
  std::string output; ///< stdout and stderr
};

inline ToolResult runTool(const std::string &tool, const std::string &arguments) {
  const std::string command = std::string(INF_LLVM_TOOLS) + "/" + tool + " " + arguments + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return {-1, "popen failed: " + command};
  ToolResult result{0, {}};
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof buffer, pipe))
    result.output.append(buffer, count);
  result.status = pclose(pipe);
  return result;
}

/// A folder of this process, removed at the end.
class TemporaryFolder {
public:
  explicit TemporaryFolder(const std::string &name)
      : path(std::filesystem::temp_directory_path() /
             ("inf_" + name + "_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  template <typename Bytes> std::string write(const std::string &name, const Bytes &content) const {
    std::ofstream(path / name, std::ios::binary)
        .write(reinterpret_cast<const char *>(content.data()),
               static_cast<std::streamsize>(content.size()));
    return file(name);
  }
  std::string file(const std::string &name) const { return (path / name).string(); }

private:
  std::filesystem::path path;
};

} // namespace inf::test
