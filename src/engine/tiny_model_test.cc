// SPDX-License-Identifier: Apache-2.0
// The engine over the tiny Llama checkpoints, on every instruction set of this machine.
#include <gtest/gtest.h>

#include <string>

#include "device/cpu/cpu_backend.h"
#include "engine/testing/batch_comparison.h"
#include "model/load_model.h"
#include "model/testing/test_gguf.h"

namespace o3::engine {
namespace {

std::vector<Ask> asks(int32_t vocabulary) {
  std::mt19937 random(77);
  std::vector<Ask> made;
  for (uint64_t id = 1; id <= 8; ++id) {
    Ask ask{.id = id,
            .prompt = std::vector<Token>(1 + random() % 70),
            .max_new_tokens = static_cast<int32_t>(1 + random() % 16)};
    for (Token& token : ask.prompt) {
      token = static_cast<Token>(random() % static_cast<uint32_t>(vocabulary));
    }
    if (id % 2 == 0) ask.sampling = {.temperature = 0.8F, .top_p = 0.95F, .seed = id};
    made.push_back(ask);
  }
  return made;
}

TEST(TinyModel, TokensDoNotDependOnTheBatch) {
  for (const auto isa : device::cpu::available_isas()) {
    auto backend = device::cpu::CpuBackend::create({.threads = 2, .isa = isa});
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    for (const char* name : {"tiny_llama.gguf", "tiny_llama_mixed.gguf"}) {
      const auto file = model::TestGguf::open(model::golden_path(name)).build();
      for (const auto compute : {kernels::Compute::kFast, kernels::Compute::kF32}) {
        SCOPED_TRACE(std::string(name) + " " + std::string(isa_name(isa)) +
                     (compute == kernels::Compute::kF32 ? " f32" : " fast"));
        auto model = model::load_model(file, **backend, {.compute = compute});
        ASSERT_TRUE(model.ok()) << model.error().message;
        ManualClock clock;
        const auto instance = test_instance(
            **backend, std::shared_ptr<const model::Model>(*std::move(model)), compute, clock);
        const auto all = asks(instance->limits().vocabulary);
        const Answers alone = answer_alone(*instance, all);
        ASSERT_EQ(alone.size(), all.size());
        EXPECT_EQ(answer_together(*instance, clock, all, 1), alone);
      }
    }
  }
}

// Conversations that go on: each prompt begins with one of three texts, and some with an answer.
TEST(TinyModel, TokensDoNotDependOnThePrefixCache) {
  for (const auto isa : device::cpu::available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    auto backend = device::cpu::CpuBackend::create({.threads = 2, .isa = isa});
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    for (const char* name : {"tiny_llama_mixed.gguf", "tiny_gemma3.gguf"}) {
      SCOPED_TRACE(name);
      const auto file = model::TestGguf::open(model::golden_path(name)).build();
      auto loaded = model::load_model(file, **backend, {});
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      const std::shared_ptr<const model::Model> model(*std::move(loaded));
      std::vector<Ask> all = asks(model->config().vocabulary);
      for (size_t i = 0; i < all.size(); ++i) {
        std::vector<Token> text(40 + 16 * (i % 3), static_cast<Token>(3 + i % 3));
        const auto own = std::min<ptrdiff_t>(std::ssize(all[i].prompt), 30);
        text.insert(text.end(), all[i].prompt.begin(), all[i].prompt.begin() + own);
        all[i].prompt = std::move(text);
      }
      ManualClock clock;
      const auto compute = kernels::Compute::kFast;
      const auto without = test_instance(**backend, model, compute, clock, 4096, false);
      const Answers alone = answer_alone(*without, all);
      EXPECT_EQ(without->stats().cached_tokens, 0);
      const auto with = test_instance(**backend, model, compute, clock);
      for (const uint32_t seed : {1U, 2U}) {
        EXPECT_EQ(answer_together(*with, clock, all, seed), alone) << "seed " << seed;
      }
      EXPECT_GT(with->stats().cached_tokens, 300);
      const auto tight = test_instance(**backend, model, compute, clock, 30);
      EXPECT_EQ(answer_together(*tight, clock, all, 3), alone) << "in a small pool";
    }
  }
}

// Five answers of up to 120 tokens in a pool for 208: what was preempted is computed again in
// chunks, and goes on with the same bits.
TEST(TinyModel, TokensDoNotDependOnPreemption) {
  for (const auto isa : device::cpu::available_isas()) {
    auto backend = device::cpu::CpuBackend::create({.threads = 2, .isa = isa});
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    const auto file = model::TestGguf::open(model::golden_path("tiny_llama_mixed.gguf")).build();
    auto loaded = model::load_model(file, **backend, {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    const std::shared_ptr<const model::Model> model(*std::move(loaded));
    std::vector<Ask> all = asks(model->config().vocabulary);
    all.resize(5);
    for (Ask& ask : all) {
      ask.prompt.resize(std::min<size_t>(ask.prompt.size(), 20));
      ask.max_new_tokens = 100;
    }
    ManualClock clock;
    const auto roomy = test_instance(**backend, model, kernels::Compute::kFast, clock);
    const Answers alone = answer_alone(*roomy, all);
    const auto tight = test_instance(**backend, model, kernels::Compute::kFast, clock, 13);
    ASSERT_GE(tight->limits().context, 120);
    EXPECT_EQ(answer_together(*tight, clock, all, 3), alone) << isa_name(isa);
    EXPECT_GE(tight->stats().preemptions, 1);
  }
}

}  // namespace
}  // namespace o3::engine
