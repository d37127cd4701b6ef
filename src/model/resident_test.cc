// SPDX-License-Identifier: Apache-2.0
// A loaded model's resident memory, for every weight type and ISA. Without sanitizers only: their
// shadow memory would be counted.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "artifact/gguf/gguf_writer.h"
#include "artifact/hf/hf_directory.h"
#include "artifact/safetensors/safetensors_writer.h"
#include "device/cpu/cpu_backend.h"
#include "model/hf/tensor_names.h"
#include "model/load_model.h"

namespace o3::model {
namespace {

using device::DType;
using device::cpu::Isa;

// What is not weights: threads, tables, the allocator's own. The promise to users allows 150 MB.
constexpr double kSlackBytes = 1 << 20;
constexpr double kFactor = 1.15;

// Anonymous and file-backed memory of this process.
int64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  int64_t kilobytes = 0;
  std::string word;
  while (status >> word) {
    int64_t value = 0;
    if ((word == "RssAnon:" || word == "RssFile:") && status >> value) kilobytes += value;
  }
  return kilobytes * 1024;
}

enum class Form : uint8_t { kGguf, kHuggingFace };

constexpr uint32_t kLayers = 2;
constexpr int64_t kHidden = 512;
constexpr int64_t kFfn = 1536;
constexpr int64_t kVocabulary = 4096;
constexpr uint32_t kHeads = 8;
constexpr uint32_t kKvHeads = 4;
constexpr uint32_t kContext = 131072;  // tables of that length must not count either

// A llama of about 8 million weights (F32: 32 MB) whose matrices are all of one type, tied
// embedding included. The contents do not matter.
std::vector<artifact::RowTensor> tensors_of(DType dtype) {
  std::vector<artifact::RowTensor> tensors;
  const auto add = [&](const std::string& name, DType type, std::vector<int64_t> shape) {
    tensors.push_back({name, type, std::move(shape), [](int64_t, std::span<std::byte> out) {
                         std::fill(out.begin(), out.end(), std::byte{0x11});
                       }});
  };
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t cols) {
    add(name, dtype, {rows, cols});
  };
  const auto norm = [&](const std::string& name) { add(name, DType::kF32, {kHidden}); };
  matrix("token_embd.weight", kVocabulary, kHidden);
  norm("output_norm.weight");
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    norm(prefix + "attn_norm.weight");
    norm(prefix + "ffn_norm.weight");
    matrix(prefix + "attn_q.weight", kHidden, kHidden);
    matrix(prefix + "attn_k.weight", kHidden / 2, kHidden);
    matrix(prefix + "attn_v.weight", kHidden / 2, kHidden);
    matrix(prefix + "attn_output.weight", kHidden, kHidden);
    matrix(prefix + "ffn_gate.weight", kFfn, kHidden);
    matrix(prefix + "ffn_up.weight", kFfn, kHidden);
    matrix(prefix + "ffn_down.weight", kHidden, kFfn);
  }
  return tensors;
}

void write_gguf(const std::filesystem::path& path, DType dtype) {
  artifact::GgufWriter writer;
  writer.add("general.architecture", "llama");
  writer.add_scalar("llama.block_count", kLayers);
  writer.add_scalar("llama.context_length", kContext);
  writer.add_scalar("llama.embedding_length", static_cast<uint32_t>(kHidden));
  writer.add_scalar("llama.feed_forward_length", static_cast<uint32_t>(kFfn));
  writer.add_scalar("llama.attention.head_count", kHeads);
  writer.add_scalar("llama.attention.head_count_kv", kKvHeads);
  writer.add_scalar("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  for (artifact::RowTensor& tensor : tensors_of(dtype)) writer.add_tensor(std::move(tensor));
  ASSERT_TRUE(writer.write(path).ok());
}

void write_directory(const std::filesystem::path& path, DType dtype) {
  std::filesystem::create_directory(path);
  std::ofstream(path / "config.json")
      << R"({"model_type":"llama","tie_word_embeddings":true,"hidden_size":)" << kHidden
      << R"(,"intermediate_size":)" << kFfn << R"(,"num_hidden_layers":)" << kLayers
      << R"(,"num_attention_heads":)" << kHeads << R"(,"num_key_value_heads":)" << kKvHeads
      << R"(,"max_position_embeddings":)" << kContext << "}";
  std::vector<artifact::RowTensor> tensors = tensors_of(dtype);
  for (artifact::RowTensor& tensor : tensors) {
    tensor.name = hf_tensor_name(tensor.name, NormNames::kPlain).value();
  }
  constexpr int64_t kShard = int64_t{8} << 20U;
  ASSERT_TRUE(artifact::write_safetensors_set(path, std::move(tensors), kShard).ok());
}

Result<ModelSource> open(const std::filesystem::path& path, Form form, int64_t& bytes) {
  if (form == Form::kGguf) {
    O3_ASSIGN(auto file, artifact::GgufFile::open(path));
    bytes = static_cast<int64_t>(file.file_bytes());
    return open_source(std::make_shared<const artifact::GgufFile>(std::move(file)));
  }
  O3_ASSIGN(auto directory, artifact::HfDirectory::open(path));
  bytes = static_cast<int64_t>(directory.tensors().file_bytes());
  return open_source(std::make_shared<const artifact::HfDirectory>(std::move(directory)));
}

class Resident : public testing::TestWithParam<std::tuple<Form, DType>> {
 protected:
  static Form form() { return std::get<0>(GetParam()); }
  static DType dtype() { return std::get<1>(GetParam()); }

  void SetUp() override {
    path_ = std::filesystem::path(testing::TempDir()) /
            ("o3_resident_" + std::to_string(::getpid()) + "_" +
             std::string(device::traits(dtype()).name));
    if (form() == Form::kGguf) {
      write_gguf(path_, dtype());
    } else {
      write_directory(path_, dtype());
    }
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  std::filesystem::path path_;
};

TEST_P(Resident, StaysNearTheFile) {
  for (const Isa isa : device::cpu::available_isas()) {
    for (const auto compute : {kernels::Compute::kFast, kernels::Compute::kF32}) {
      auto backend = device::cpu::CpuBackend::create({.threads = 2, .isa = isa});
      ASSERT_TRUE(backend.ok());
      malloc_trim(0);  // what building the file left behind
      const int64_t before = resident_bytes();
      int64_t bytes = 0;
      auto source = open(path_, form(), bytes);
      ASSERT_TRUE(source.ok()) << source.error().message;
      auto model = load_model(*source, **backend, {.compute = compute});
      ASSERT_TRUE(model.ok()) << model.error().message;
      malloc_trim(0);
      const auto grown = static_cast<double>(resident_bytes() - before);
      const auto file = static_cast<double>(bytes);
      EXPECT_LE(grown, kFactor * file + kSlackBytes) << device::cpu::isa_name(isa);
      EXPECT_GE(grown, 0.7 * file) << "the measurement misses the weights";
    }
  }
}

std::string type_name(const testing::TestParamInfo<Resident::ParamType>& info) {
  return std::string(device::traits(std::get<1>(info.param)).name);
}

INSTANTIATE_TEST_SUITE_P(Gguf, Resident,
                         testing::Combine(testing::Values(Form::kGguf),
                                          testing::Values(DType::kF32, DType::kF16, DType::kBF16,
                                                          DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
                                                          DType::kQ5_1, DType::kQ8_0, DType::kQ2_K,
                                                          DType::kQ3_K, DType::kQ4_K, DType::kQ5_K,
                                                          DType::kQ6_K, DType::kIQ4_NL)),
                         type_name);
INSTANTIATE_TEST_SUITE_P(HuggingFace, Resident,
                         testing::Combine(testing::Values(Form::kHuggingFace),
                                          testing::Values(DType::kF32, DType::kF16, DType::kBF16)),
                         type_name);

}  // namespace
}  // namespace o3::model
