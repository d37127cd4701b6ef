// SPDX-License-Identifier: Apache-2.0
// Every tiny checkpoint in the other kind of file, and back.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "eval/testing/golden.h"
#include "loader/convert.h"
#include "loader/loaded_model.h"
#include "model/testing/test_directory.h"

namespace o3::eval {
namespace {

namespace fs = std::filesystem;
using device::DType;
using device::cpu::Isa;
using kernels::Compute;
using model::ScratchDirectory;

constexpr double kGolden = 1e-4;  // as the files themselves; see eval/family_golden_test.cc
constexpr double kSame = 1e-6;    // the same weights; the order of sums may differ

using Logits = std::vector<std::vector<float>>;

Logits logits_of(const fs::path& path, const std::string& golden) {
  const auto backend = cpu_backend(Isa::kGeneric);
  const auto model =
      loader::load_weights(path, *backend, {.compute = Compute::kF32, .kv_dtype = DType::kF32});
  EXPECT_TRUE(model.ok()) << model.error().message;
  if (!model.ok()) return {};
  const auto test = read_golden(golden + ".json")["cases"].back();
  auto logits =
      sequence_logits(**model, *backend, test["ids"].get<std::vector<Token>>(),
                      test["rows"].get<std::vector<int32_t>>(), {.compute = Compute::kF32});
  EXPECT_TRUE(logits.ok());
  return logits.ok() ? *std::move(logits) : Logits{};
}

template <class T>
double apart(const Logits& found, const std::vector<std::vector<T>>& expected) {
  if (found.empty() || found.size() != expected.size()) return 1.0;
  Distance distance;
  for (size_t row = 0; row < found.size(); ++row) {
    for (size_t id = 0; id < found[row].size(); ++id) {
      distance.add(double{found[row][id]}, double{expected[row][id]});
    }
  }
  return distance.relative();
}

double from_golden(const fs::path& path, const std::string& golden) {
  return apart(logits_of(path, golden), read_golden(golden + ".json")["cases"]
                                            .back()["logits"]
                                            .get<std::vector<std::vector<double>>>());
}

class Converted : public testing::TestWithParam<std::string> {
 protected:
  fs::path at(const char* name) const { return scratch_.path() / name; }
  static void convert(const fs::path& from, const fs::path& to) {
    const auto done = loader::convert_model({.from = from, .to = to});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  ScratchDirectory scratch_{"convert_" + GetParam()};
};

TEST_P(Converted, ToADirectoryAndBack) {
  const fs::path gguf = model::golden_path(GetParam() + ".gguf");
  convert(gguf, at("hf"));
  convert(at("hf"), at("back.gguf"));
  const Logits directory = logits_of(at("hf"), GetParam());
  EXPECT_LE(apart(logits_of(at("back.gguf"), GetParam()), directory), kSame);
  EXPECT_LE(apart(logits_of(gguf, GetParam()), directory), kSame);
  EXPECT_LE(from_golden(at("hf"), GetParam()), kGolden);
}

TEST_P(Converted, FromWhatTransformersSaved) {
  convert(model::golden_path(GetParam()), at("made.gguf"));
  EXPECT_LE(from_golden(at("made.gguf"), GetParam()), kGolden);
  convert(at("made.gguf"), at("hf"));
  EXPECT_LE(from_golden(at("hf"), GetParam()), kGolden);
}

INSTANTIATE_TEST_SUITE_P(Each, Converted,
                         testing::Values("tiny_linear", "tiny_dynamic", "tiny_llama3", "tiny_yarn",
                                         "tiny_mistral", "tiny_qwen2", "tiny_qwen3", "tiny_gemma3",
                                         "tiny_gemma3_caps"),
                         [](const testing::TestParamInfo<std::string>& test) {
                           return test.param;
                         });

// BF16 keeps 8 bits of what a scale times a quant gives.
TEST(ConvertQuantised, BecomesBf16) {
  const ScratchDirectory scratch("convert_quants");
  for (const char* name : {"tiny_q2_k", "tiny_q4_k", "tiny_q6_k", "tiny_iq4_nl"}) {
    const fs::path gguf = model::golden_path(std::string(name) + ".gguf");
    const auto done = loader::convert_model({.from = gguf, .to = scratch.path() / name});
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->widened, 8);
    const Logits directory = logits_of(scratch.path() / name, name);
    EXPECT_LE(apart(logits_of(gguf, name), directory), 2e-2) << name;
    const fs::path back = scratch.path() / (std::string(name) + ".gguf");
    ASSERT_TRUE(loader::convert_model({.from = scratch.path() / name, .to = back}).ok());
    EXPECT_LE(apart(logits_of(back, name), directory), kSame) << name;
  }
}

TEST(Convert, RefusesToOverwriteAndLeavesNothingBehind) {
  const ScratchDirectory scratch("convert_refusals");
  const fs::path gguf = model::golden_path("tiny_qwen3.gguf");
  const fs::path out = scratch.path() / "out";
  ASSERT_TRUE(loader::convert_model({.from = gguf, .to = out}).ok());
  EXPECT_EQ(loader::convert_model({.from = gguf, .to = out}).error().code, Code::kConflict);
  EXPECT_TRUE(
      loader::convert_model({.from = gguf, .to = out, .overwrite = artifact::Overwrite::kYes})
          .ok());
  EXPECT_EQ(loader::convert_model({.from = out, .to = out}).error().code, Code::kInvalid);
  std::ofstream(scratch.path() / "broken.gguf") << "GGUF";
  EXPECT_FALSE(loader::convert_model(
                   {.from = scratch.path() / "broken.gguf", .to = scratch.path() / "nothing"})
                   .ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 2);
}

// A divisor that no llama3 scaling gives.
TEST(Convert, RopeDivisorsThatNoConfigCanSay) {
  const ScratchDirectory scratch("convert_divisors");
  model::TestGguf gguf = model::TestGguf::open(model::golden_path("tiny_llama3.gguf"));
  auto& divisors = gguf.tensors.at("rope_freqs.weight").data;
  const float odd = 3.0F;
  std::memcpy(divisors.data(), &odd, sizeof odd);
  const fs::path path = scratch.path() / "odd.gguf";
  artifact::GgufWriter writer;
  for (const auto& [key, value] : gguf.metadata) {
    std::visit(
        [&](const auto& held) {
          if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>) {
            writer.add(key, held);
          } else {
            writer.add_scalar(key, held);
          }
        },
        value);
  }
  for (const auto& [name, tensor] : gguf.tensors) {
    writer.add_tensor(name, tensor.dtype, tensor.shape, tensor.data);
  }
  ASSERT_TRUE(writer.write(path).ok());
  const auto done = loader::convert_model({.from = path, .to = scratch.path() / "out"});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kUnsupported);
  EXPECT_EQ(done.error().param, "rope_freqs.weight");
}

}  // namespace
}  // namespace o3::eval
