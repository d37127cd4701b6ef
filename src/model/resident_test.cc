// SPDX-License-Identifier: Apache-2.0
// A loaded model's resident memory, for every weight type and ISA. Without sanitizers only: their
// shadow memory would be counted.
#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "artifact/gguf/gguf_writer.h"
#include "device/cpu/cpu_backend.h"
#include "model/family.h"

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

// A llama of about 8 million weights (F32: 32 MB) whose matrices are all of one type, tied
// embedding included. The contents do not matter.
void write_model(const std::filesystem::path& path, DType dtype) {
  constexpr uint32_t kLayers = 2;
  constexpr int64_t kHidden = 512;
  constexpr int64_t kFfn = 1536;
  constexpr int64_t kVocabulary = 4096;
  artifact::GgufWriter writer;
  writer.add("general.architecture", "llama");
  writer.add_scalar("llama.block_count", kLayers);
  writer.add_scalar("llama.context_length", uint32_t{128});
  writer.add_scalar("llama.embedding_length", static_cast<uint32_t>(kHidden));
  writer.add_scalar("llama.feed_forward_length", static_cast<uint32_t>(kFfn));
  writer.add_scalar("llama.attention.head_count", uint32_t{8});
  writer.add_scalar("llama.attention.head_count_kv", uint32_t{4});
  writer.add_scalar("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  const std::vector<std::byte> data(
      static_cast<size_t>(device::row_bytes(dtype, kHidden) * kVocabulary), std::byte{0x11});
  const std::vector<std::byte> ones(static_cast<size_t>(kHidden) * 4, std::byte{0x11});
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t cols) {
    const std::array shape{rows, cols};
    const auto bytes = static_cast<size_t>(device::row_bytes(dtype, cols) * rows);
    writer.add_tensor(name, dtype, shape, std::span(data).first(bytes));
  };
  const auto norm = [&](const std::string& name) {
    const std::array shape{kHidden};
    writer.add_tensor(name, DType::kF32, shape, ones);
  };
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
  ASSERT_TRUE(writer.write(path).ok());
}

class Resident : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(testing::TempDir()) /
            ("o3_resident_" + std::string(device::traits(GetParam()).name) + ".gguf");
    write_model(path_, GetParam());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_;
};

TEST_P(Resident, StaysNearTheFile) {
  for (const Isa isa : device::cpu::available_isas()) {
    for (const auto compute : {kernels::Compute::kFast, kernels::Compute::kF32}) {
      auto backend = device::cpu::CpuBackend::create({.threads = 2, .isa = isa});
      ASSERT_TRUE(backend.ok());
      malloc_trim(0);  // what building the file left behind
      const int64_t before = resident_bytes();
      auto file = artifact::GgufFile::open(path_);
      ASSERT_TRUE(file.ok()) << file.error().message;
      auto shared = std::make_shared<const artifact::GgufFile>(*std::move(file));
      const auto bytes = static_cast<double>(shared->file_bytes());
      auto model = load_model(std::move(shared), **backend, {.compute = compute});
      ASSERT_TRUE(model.ok()) << model.error().message;
      malloc_trim(0);
      const auto grown = static_cast<double>(resident_bytes() - before);
      EXPECT_LE(grown, kFactor * bytes + kSlackBytes) << device::cpu::isa_name(isa);
      EXPECT_GE(grown, 0.7 * bytes) << "the measurement misses the weights";
    }
  }
}

std::string type_name(const testing::TestParamInfo<DType>& info) {
  return std::string(device::traits(info.param).name);
}

INSTANTIATE_TEST_SUITE_P(EveryType, Resident,
                         testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0,
                                         DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                                         DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K,
                                         DType::kQ6_K, DType::kIQ4_NL),
                         type_name);

}  // namespace
}  // namespace o3::model
