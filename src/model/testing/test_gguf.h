// SPDX-License-Identifier: Apache-2.0
// For tests: a small GGUF file taken apart, changed, and put together again in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "artifact/gguf/gguf_file.h"
#include "artifact/gguf/gguf_writer.h"
#include "device/dtype.h"

namespace o3::model {

inline std::filesystem::path golden_path(const std::string& name) {
  return std::filesystem::path(O3_SOURCE_DIR) / "tests/golden/model" / name;
}

struct TestTensor {
  device::DType dtype = device::DType::kF32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};

// Scalars and strings only, which is what the tiny checkpoints hold.
class TestGguf {
 public:
  using Value = std::variant<uint32_t, float, std::string, bool>;

  static TestGguf open(const std::filesystem::path& path) {
    auto file = artifact::GgufFile::open(path);
    O3_CHECK(file.ok(), "a committed test file opens");
    TestGguf copy;
    for (const artifact::GgufEntry& entry : file->metadata()) copy.add(entry);
    for (const artifact::GgufTensor& tensor : file->tensors()) {
      TestTensor& to = copy.tensors[std::string(tensor.name)];
      to.dtype = tensor.view.dtype;
      to.shape.assign(tensor.view.shape.begin(), tensor.view.shape.begin() + tensor.view.rank);
      to.data.assign(tensor.view.data, tensor.view.data + tensor.bytes);
    }
    return copy;
  }

  // The file keeps its memory alive.
  std::shared_ptr<const artifact::GgufFile> build() const {
    artifact::GgufWriter writer;
    for (const auto& [key, value] : metadata) {
      if (const auto* text = std::get_if<std::string>(&value)) {
        writer.add(key, *text);
      } else if (const auto* real = std::get_if<float>(&value)) {
        writer.add_scalar(key, *real);
      } else if (const auto* flag = std::get_if<bool>(&value)) {
        writer.add_scalar(key, *flag);
      } else {
        writer.add_scalar(key, std::get<uint32_t>(value));
      }
    }
    for (const auto& [name, tensor] : tensors) {
      writer.add_tensor(name, tensor.dtype, tensor.shape, tensor.data);
    }
    struct Owner {
      std::vector<std::byte> bytes;
      std::unique_ptr<artifact::GgufFile> file;
    };
    auto owner = std::make_shared<Owner>(Owner{writer.build(), nullptr});
    auto parsed = artifact::GgufFile::parse(owner->bytes, "test.gguf");
    O3_CHECK(parsed.ok(), "what the writer builds can be read");
    owner->file = std::make_unique<artifact::GgufFile>(*std::move(parsed));
    return {owner, owner->file.get()};
  }

  std::map<std::string, Value> metadata;
  std::map<std::string, TestTensor> tensors;

 private:
  void add(const artifact::GgufEntry& entry) {
    const std::string key(entry.key);
    if (entry.value.type == artifact::GgufType::kString) {
      metadata[key] = *entry.value.as<std::string>(key);
    } else if (entry.value.type == artifact::GgufType::kF32) {
      metadata[key] = *entry.value.as<float>(key);
    } else {
      metadata[key] = *entry.value.as<uint32_t>(key);
    }
  }
};

}  // namespace o3::model
