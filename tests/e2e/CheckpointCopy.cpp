#include "tests/e2e/CheckpointCopy.h"

#include "tests/e2e/Models.h"

namespace inf::test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

CheckpointCopy::CheckpointCopy() {
  fs::create_directory(path());
  fs::create_directory(folder / "out");
  for (const auto &entry : fs::directory_iterator(tinyModel))
    fs::create_symlink(entry.path(), path(entry.path().filename().string()));
}

void CheckpointCopy::own(const std::string &name) {
  if (!fs::is_symlink(path(name)))
    return;
  const fs::path original = fs::read_symlink(path(name));
  fs::remove(path(name));
  fs::copy_file(original, path(name));
  fs::permissions(path(name), fs::perms::owner_write, fs::perm_options::add);
}

void CheckpointCopy::editJson(const std::string &name, const std::function<void(Json &)> &edit) {
  own(name);
  const std::vector<uint8_t> bytes = readBytes(path(name));
  Json json = Json::parse(bytes);
  edit(json);
  writeBytes(path(name), json.dump(2));
}

void CheckpointCopy::editShard(const std::string &name,
                               const std::function<void(Json &, std::vector<uint8_t> &)> &edit) {
  own(name);
  const std::vector<uint8_t> bytes = readBytes(path(name));
  uint64_t headerBytes;
  std::memcpy(&headerBytes, bytes.data(), sizeof headerBytes);
  const auto headerEnd = bytes.begin() + 8 + std::ptrdiff_t(headerBytes);
  Json header = Json::parse(bytes.begin() + 8, headerEnd);
  std::vector<uint8_t> data(headerEnd, bytes.end());
  edit(header, data);
  const std::string text = header.dump();
  headerBytes = text.size();
  std::vector<uint8_t> result(8);
  std::memcpy(result.data(), &headerBytes, sizeof headerBytes);
  result.insert(result.end(), text.begin(), text.end());
  result.insert(result.end(), data.begin(), data.end());
  writeBytes(path(name), result);
}

void CheckpointCopy::cutFile(const std::string &name, uint64_t bytes) {
  own(name);
  fs::resize_file(path(name), bytes);
}

void CheckpointCopy::expectRefusal(int code, const std::vector<std::string> &parts) {
  expectRefused(infc({"compile", path(), "-q", "--target=avx2", "-o", folder / "out/model.so"}),
                code, parts);
  EXPECT_TRUE(fs::is_empty(folder / "out")) << "something half-written stayed";
}

} // namespace inf::test
