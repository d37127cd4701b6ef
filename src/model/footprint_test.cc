// SPDX-License-Identifier: Apache-2.0
#include "model/footprint.h"

#include <gtest/gtest.h>

#include <string>

#include "device/cpu/cpu_backend.h"
#include "model/testing/test_gguf.h"

namespace o3::model {
namespace {

using device::DType;

Result<ModelSource> open(const std::string& name) {
  if (name.ends_with(".gguf")) {
    O3_ASSIGN(auto file, artifact::GgufFile::open(golden_path(name)));
    return open_source(std::make_shared<const artifact::GgufFile>(std::move(file)));
  }
  O3_ASSIGN(auto directory, artifact::HfDirectory::open(golden_path(name)));
  return open_source(std::make_shared<const artifact::HfDirectory>(std::move(directory)));
}

class FootprintOf : public testing::TestWithParam<std::string> {};

TEST_P(FootprintOf, IsWhatLoadingTakes) {
  const auto source = open(GetParam());
  ASSERT_TRUE(source.ok()) << source.error().message;
  for (const device::cpu::Isa isa : device::cpu::available_isas()) {
    for (const LoadOptions options :
         {LoadOptions{}, LoadOptions{.compute = kernels::Compute::kF32, .kv_dtype = DType::kF32}}) {
      auto backend = device::cpu::CpuBackend::create({.threads = 2, .isa = isa});
      ASSERT_TRUE(backend.ok());
      const auto footprint = measure_model(*source, **backend, options);
      ASSERT_TRUE(footprint.ok()) << footprint.error().message;
      EXPECT_EQ((*backend)->allocated(device::MemTag::kWeights), 0U);
      const auto model = load_model(*source, **backend, options);
      ASSERT_TRUE(model.ok()) << model.error().message;
      EXPECT_EQ(footprint->weight_bytes,
                static_cast<int64_t>((*backend)->allocated(device::MemTag::kWeights)));
      for (const auto& [rows, logit_rows] : {std::pair(1, 1), std::pair(8, 3), std::pair(512, 9)}) {
        EXPECT_EQ(footprint->workspace_bytes(rows, logit_rows),
                  dynamic_cast<const HostModel&>(**model).workspace_bytes(rows, logit_rows))
            << rows << " rows";
      }
      // Per token, as the pool's pages have it.
      const auto layout = cache::make_page_layout((*model)->cache_specs(), 16);
      ASSERT_TRUE(layout.ok());
      ASSERT_EQ(layout->groups.size(), footprint->kv.size());
      for (size_t group = 0; group < layout->groups.size(); ++group) {
        const cache::KvGroup& pages = layout->groups[group];
        EXPECT_EQ(footprint->kv[group].spec, pages.spec);
        EXPECT_EQ(footprint->kv[group].bytes(pages.page_tokens),
                  pages.k_offset(static_cast<int32_t>(pages.layers.size())));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, FootprintOf,
                         testing::Values("tiny_llama.gguf", "tiny_llama_mixed.gguf",
                                         "tiny_q4_k.gguf", "tiny_qwen2.gguf", "tiny_qwen3.gguf",
                                         "tiny_gemma3.gguf", "tiny_mistral", "tiny_gemma3_caps"),
                         [](const testing::TestParamInfo<std::string>& test) {
                           return test.param.substr(0, test.param.find('.'));
                         });

TEST(Footprint, CountsOfGemma) {
  const auto source = open("tiny_gemma3");
  ASSERT_TRUE(source.ok());
  const auto backend = device::cpu::CpuBackend::create({.threads = 1});
  const auto footprint = measure_model(*source, **backend, {});
  ASSERT_TRUE(footprint.ok());
  ASSERT_EQ(footprint->kv.size(), 2U);
  EXPECT_EQ(footprint->kv[0].spec.window, 12);
  EXPECT_EQ(footprint->kv[0].layers, 6);
  EXPECT_EQ(footprint->kv[0].bytes_per_token, 6 * 2 * 16 * 2);  // K and V of 16 values in F16
  EXPECT_EQ(footprint->kv[1].layers, 1);
  EXPECT_EQ(footprint->kv_bytes_per_token(), 7 * 2 * 16 * 2);
  EXPECT_EQ(footprint->embedding_bytes, 64 * 32 * 2);
  EXPECT_EQ(footprint->logit_bytes(3), 3 * 64 * 4);
}

}  // namespace
}  // namespace o3::model
