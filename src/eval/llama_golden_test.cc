// SPDX-License-Identifier: Apache-2.0
// The Llama forward pass against logits of an independent float64 implementation
// (tools/golden/make_tiny_llama.py, make_tiny_quants.py), on every ISA of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <tuple>

#include "eval/model_session.h"
#include "eval/testing/golden.h"

namespace o3::eval {
namespace {

using device::DType;
using device::cpu::Isa;
using kernels::Compute;
using model::TestGguf;

// Rounding of FP32 sums over three layers is a few 1e-7; a mistake in the arithmetic is above 1e-3
// (see PlantedFault).
constexpr double kF32Tolerance = 1e-4;
// The fast path may round as much as an independent imitation of it does (8-bit blocks of
// activations, F16 keys and values), which the golden file records, and a little more.
constexpr double kFastAllowance = 1.25;

class TinyLlama : public testing::TestWithParam<std::tuple<std::string, Isa>> {
 protected:
  void SetUp() override {
    file_ = TestGguf::open(model::golden_path(name() + ".gguf")).build();
    golden_ = read_golden(name() + ".json");
    backend_ = cpu_backend(std::get<1>(GetParam()));
  }
  static std::string name() { return std::get<0>(GetParam()); }

  std::shared_ptr<const artifact::GgufFile> file_;
  nlohmann::json golden_;
  std::unique_ptr<device::cpu::CpuBackend> backend_;
};

TEST_P(TinyLlama, Fp32MatchesTheReference) {
  const auto model = load(file_, *backend_, Compute::kF32, DType::kF32);
  EXPECT_LE(golden_distance(*model, *backend_, golden_, {.compute = Compute::kF32}), kF32Tolerance);
}

TEST_P(TinyLlama, FastIsClose) {
  const auto model = load(file_, *backend_, Compute::kFast, DType::kF16);
  EXPECT_LE(golden_distance(*model, *backend_, golden_, {.compute = Compute::kFast}),
            kFastAllowance * golden_.at("fast_distance").get<double>());
}

TEST_P(TinyLlama, ChunkedPrefillGivesTheSameBits) {
  const auto ids = golden_["cases"].back()["ids"].get<std::vector<Token>>();
  std::vector<int32_t> rows(ids.size());
  for (size_t row = 0; row < rows.size(); ++row) rows[row] = static_cast<int32_t>(row);
  for (const Compute compute : {Compute::kF32, Compute::kFast}) {
    const auto model = load(file_, *backend_, compute, DType::kF16);
    const auto whole = sequence_logits(*model, *backend_, ids, rows, {.compute = compute});
    ASSERT_TRUE(whole.ok());
    for (const int32_t chunk : {1, 7, 33}) {
      const auto cut =
          sequence_logits(*model, *backend_, ids, rows, {.compute = compute, .chunk = chunk});
      ASSERT_TRUE(cut.ok());
      EXPECT_TRUE(*cut == *whole) << "chunks of " << chunk;
    }
  }
}

TEST_P(TinyLlama, FewerLogitRowsGiveTheSameBits) {
  const auto model = load(file_, *backend_, Compute::kFast, DType::kF16);
  const auto ids = golden_["cases"].back()["ids"].get<std::vector<Token>>();
  std::vector<int32_t> all(ids.size());
  for (size_t row = 0; row < all.size(); ++row) all[row] = static_cast<int32_t>(row);
  const std::vector<int32_t> some{3, 4, 5, 40, static_cast<int32_t>(ids.size()) - 1};
  const auto whole = sequence_logits(*model, *backend_, ids, all, {});
  const auto few = sequence_logits(*model, *backend_, ids, some, {});
  ASSERT_TRUE(whole.ok() && few.ok());
  for (size_t row = 0; row < some.size(); ++row) {
    EXPECT_TRUE((*few)[row] == (*whole)[static_cast<size_t>(some[row])]) << "row " << some[row];
  }
}

// Three sequences of different lengths in one batch, prefill and decode rows mixed: each gets the
// bits it gets alone (spec A20).
TEST_P(TinyLlama, BatchMixGivesTheBitsOfEachAlone) {
  const auto ids = golden_["cases"].back()["ids"].get<std::vector<Token>>();
  const std::span<const Token> all(ids);
  for (const Compute compute : {Compute::kF32, Compute::kFast}) {
    const auto model = load(file_, *backend_, compute, DType::kF16);
    auto session = ModelSession::create(
        *model, *backend_, compute,
        {.sequences = 3, .context = 80, .step_rows = 64, .step_logits = 64, .page_tokens = 16});
    ASSERT_TRUE(session.ok()) << session.error().message;
    const std::vector<int32_t> none;
    const std::vector<Feed> prompts{{.sequence = 1, .tokens = all.subspan(5, 20)},
                                    {.sequence = 2, .tokens = all.subspan(11, 33)}};
    ASSERT_TRUE((*session)->step(prompts, none).ok());
    // One decode row, a prompt's first chunk, another decode row.
    const std::vector<Feed> mixed{{.sequence = 1, .tokens = all.subspan(25, 1)},
                                  {.sequence = 0, .tokens = all.subspan(0, 17)},
                                  {.sequence = 2, .tokens = all.subspan(44, 1)}};
    const std::vector<int32_t> rows{0, 17, 18};
    auto logits = (*session)->step(mixed, rows);
    ASSERT_TRUE(logits.ok());

    const std::span<const Token> alone[] = {all.subspan(5, 21), all.subspan(0, 17),
                                            all.subspan(11, 34)};
    for (size_t index = 0; index < rows.size(); ++index) {
      const auto last = static_cast<int32_t>(alone[index].size()) - 1;
      const auto expected =
          sequence_logits(*model, *backend_, alone[index], {&last, 1}, {.compute = compute});
      ASSERT_TRUE(expected.ok());
      const float* row = logits->row<const float>(static_cast<int64_t>(index));
      EXPECT_TRUE(std::equal(expected->front().begin(), expected->front().end(), row))
          << "row " << index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, TinyLlama,
                         testing::Combine(testing::Values("tiny_llama", "tiny_llama_mixed",
                                                          "tiny_q2_k", "tiny_q3_k", "tiny_q4_k",
                                                          "tiny_q5_k", "tiny_q6_k", "tiny_iq4_nl"),
                                          testing::ValuesIn(device::cpu::available_isas())),
                         [](const testing::TestParamInfo<TinyLlama::ParamType>& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(device::cpu::isa_name(std::get<1>(test.param)));
                         });

// The goldens must notice what they are there for: each mistake, made in the file instead of in
// the code, has to move the logits well beyond the tolerance.
struct Fault {
  const char* name;
  std::function<void(TestGguf&)> plant;
};

constexpr int64_t kHeadDim = 16;

// Rows of a matrix in another order; order(row) says which old row comes to `row`.
void reorder_rows(model::TestTensor& matrix, const std::function<int64_t(int64_t)>& order) {
  const std::vector<std::byte> old = matrix.data;
  const auto bytes = static_cast<int64_t>(old.size()) / matrix.shape[0];
  for (int64_t row = 0; row < matrix.shape[0]; ++row) {
    std::memcpy(matrix.data.data() + row * bytes, old.data() + order(row) * bytes,
                static_cast<size_t>(bytes));
  }
}

// As if rotated pairs were (i, i + dim/2) in a file whose pairs are neighbours.
int64_t half_order(int64_t row) {
  const int64_t in_head = row % kHeadDim;
  return row - in_head + (in_head % 2) * (kHeadDim / 2) + in_head / 2;
}

const Fault kFaults[] = {
    {"rope_base", [](TestGguf& gguf) { gguf.metadata["llama.rope.freq_base"] = 12000.0F; }},
    {"rope_dimensions", [](TestGguf& gguf) { gguf.metadata["llama.rope.dimension_count"] = 14U; }},
    {"epsilon",
     [](TestGguf& gguf) { gguf.metadata["llama.attention.layer_norm_rms_epsilon"] = 2e-5F; }},
    {"qk_permutation",
     [](TestGguf& gguf) {
       for (const char* layer : {"blk.0.", "blk.1.", "blk.2."}) {
         reorder_rows(gguf.tensors.at(std::string(layer) + "attn_q.weight"), half_order);
         reorder_rows(gguf.tensors.at(std::string(layer) + "attn_k.weight"), half_order);
       }
     }},
    {"query_head_grouping",  // head h reads KV head h % kv_heads instead of h / group
     [](TestGguf& gguf) {
       reorder_rows(gguf.tensors.at("blk.1.attn_q.weight"), [](int64_t row) {
         const int64_t head = row / kHeadDim;
         return (head % 3 * 2 + head / 3) * kHeadDim + row % kHeadDim;
       });
     }},
    {"gate_and_up_swapped",
     [](TestGguf& gguf) {
       std::swap(gguf.tensors.at("blk.1.ffn_gate.weight"), gguf.tensors.at("blk.1.ffn_up.weight"));
     }},
    {"norms_swapped",
     [](TestGguf& gguf) {
       std::swap(gguf.tensors.at("blk.2.attn_norm.weight"),
                 gguf.tensors.at("blk.2.ffn_norm.weight"));
     }},
};

class PlantedFault : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsNoticed) {
  TestGguf gguf = TestGguf::open(model::golden_path("tiny_llama.gguf"));
  GetParam().plant(gguf);
  const auto backend = cpu_backend(Isa::kGeneric);
  const auto model = load(gguf.build(), *backend, Compute::kF32, DType::kF32);
  const double distance =
      golden_distance(*model, *backend, read_golden("tiny_llama.json"), {.compute = Compute::kF32});
  RecordProperty("distance", std::to_string(distance));
  EXPECT_GT(distance, 10 * kF32Tolerance);
}

// The scale of the scores is not in the file: shrinking Q by 3 % is the same mistake.
TEST(PlantedFaultInScale, IsNoticed) {
  TestGguf gguf = TestGguf::open(model::golden_path("tiny_llama_mixed.gguf"));
  // Q8_0 blocks: an F16 scale, then 32 signed bytes.
  model::TestTensor& q = gguf.tensors.at("blk.0.attn_q.weight");
  ASSERT_EQ(q.dtype, DType::kQ8_0);
  for (size_t block = 0; block < q.data.size(); block += 34) {
    for (size_t byte = 2; byte < 34; ++byte) {
      auto value = static_cast<int8_t>(q.data[block + byte]);
      value = static_cast<int8_t>(std::lround(value * 0.97));
      q.data[block + byte] = static_cast<std::byte>(value);
    }
  }
  const auto backend = cpu_backend(Isa::kGeneric);
  const auto model = load(gguf.build(), *backend, Compute::kF32, DType::kF32);
  EXPECT_GT(golden_distance(*model, *backend, read_golden("tiny_llama_mixed.json"),
                            {.compute = Compute::kF32}),
            10 * kF32Tolerance);
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFault, testing::ValuesIn(kFaults),
                         [](const testing::TestParamInfo<Fault>& test) { return test.param.name; });

TEST(Golden, AttentionIsNeitherFlatNorAPeak) {
  for (const char* name : {"tiny_llama.json", "tiny_llama_mixed.json"}) {
    const nlohmann::json golden = read_golden(name);
    for (const double entropy : golden.at("entropy").get<std::vector<double>>()) {
      EXPECT_GE(entropy, 0.3) << name;
      EXPECT_LE(entropy, 0.7) << name;
    }
  }
}

}  // namespace
}  // namespace o3::eval
