// SPDX-License-Identifier: Apache-2.0
// Any model.safetensors.index.json beside two sound shards: refused with an error, or a set in
// which every tensor can be read. Bytes behind a zero byte are config.json.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "artifact/hf/hf_directory.h"
#include "base/check.h"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string shard(const std::string& tensor) {
  std::string header = R"({")" + tensor + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(4, '\0');
}

// One for the process; gone with it.
class Directory {
 public:
  Directory()
      : path_(fs::temp_directory_path() / ("o3_hf_directory_fuzz." + std::to_string(getpid()))) {
    fs::create_directories(path_);
    write(path_ / "a.safetensors", shard("w"));
    write(path_ / "b.safetensors", shard("v"));
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Directory directory;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\0');
  write(directory.path() / "model.safetensors.index.json", input.substr(0, cut));
  write(directory.path() / "config.json",
        cut == std::string_view::npos ? "{}" : input.substr(cut + 1));
  const auto opened = o3::artifact::HfDirectory::open(directory.path());
  if (!opened.ok()) {
    O3_CHECK(!opened.error().message.empty(), "an error says something");
    return 0;
  }
  O3_CHECK(opened->config().is_object(), "the configuration is an object");
  O3_CHECK(opened->tensors().files() <= 2, "there are no other shards");
  for (const o3::artifact::SafeTensor* tensor : opened->tensors().tensors()) {
    O3_CHECK(opened->tensors().find(tensor->name) == tensor, "every tensor is found");
    O3_CHECK(tensor->bytes == 4, "views are those of the shards");
  }
  return 0;
}
