// SPDX-License-Identifier: Apache-2.0
// For tests: a small Hugging Face directory taken apart, changed, and written again.
#pragma once

#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "artifact/hf/hf_directory.h"
#include "artifact/safetensors/safetensors_writer.h"
#include "base/check.h"
#include "kernels/elementwise.h"
#include "model/testing/test_gguf.h"

namespace o3::model {

// Removed, with all in it, by the destructor.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("o3_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// config.json and the tensors, whose values are kept as FP32.
struct TestDirectory {
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  nlohmann::json config;
  std::map<std::string, Tensor> tensors;

  static TestDirectory open(const std::string& name) {
    auto directory = artifact::HfDirectory::open(golden_path(name));
    O3_CHECK(directory.ok(), "a committed test directory opens");
    TestDirectory copy{directory->config(), {}};
    for (const artifact::SafeTensor* tensor : directory->tensors().tensors()) {
      Tensor& to = copy.tensors[tensor->name];
      const device::TensorView& view = tensor->view;
      to.shape.assign(view.shape.begin(), view.shape.begin() + view.rank);
      to.values.resize(static_cast<size_t>(view.rows() * view.cols()));
      kernels::dequantize_row(view.dtype, view.data, to.values.data(), view.rows() * view.cols());
    }
    return copy;
  }

  void rename(const std::string& from, const std::string& to) {
    auto node = tensors.extract(from);
    O3_CHECK(!node.empty(), "a tensor of that name");
    node.key() = to;
    tensors.insert(std::move(node));
  }

  // Only the upper half of each value, which is what BF16 keeps.
  void truncate_to_bf16() {
    for (auto& [name, tensor] : tensors) {
      for (float& value : tensor.values) {
        auto bits = std::bit_cast<uint32_t>(value);
        bits &= 0xFFFF0000U;
        value = std::bit_cast<float>(bits);
      }
    }
  }

  // F32, or BF16 by truncation; in shards of at most `shard_bytes`.
  void write(const std::filesystem::path& path, device::DType dtype = device::DType::kF32,
             int64_t shard_bytes = int64_t{1} << 30) const {
    std::ofstream(path / "config.json") << config.dump();
    std::vector<artifact::RowTensor> rows;
    rows.reserve(tensors.size());
    for (const auto& [name, tensor] : tensors) {
      rows.push_back({name, dtype, tensor.shape, [&tensor, dtype](int64_t row, auto out) {
                        const auto width = static_cast<size_t>(tensor.shape.back());
                        const float* from = tensor.values.data() + static_cast<size_t>(row) * width;
                        for (size_t i = 0; i < width; ++i) {
                          if (dtype == device::DType::kF32) {
                            std::memcpy(out.data() + 4 * i, from + i, 4);
                          } else {
                            const auto bits =
                                static_cast<uint16_t>(std::bit_cast<uint32_t>(from[i]) >> 16U);
                            std::memcpy(out.data() + 2 * i, &bits, 2);
                          }
                        }
                      }});
    }
    const auto written = artifact::write_safetensors_set(path, std::move(rows), shard_bytes);
    O3_CHECK(written.ok(), "a scratch directory can be written");
  }
};

}  // namespace o3::model
