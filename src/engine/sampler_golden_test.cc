// SPDX-License-Identifier: Apache-2.0
// Each step of the sampler against transformers' logits processors on 1,000 rows: checksums made by
// tools/golden/logits_processors.py, which makes the rows as this does.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/logit_edits.h"
#include "engine/sampler.h"
#include "engine/truncation.h"

namespace o3::engine {
namespace {

constexpr size_t kVocabulary = 1000;
constexpr size_t kKnown = 40;
constexpr size_t kAnswer = 25;
constexpr std::array kTemperatures{0.1F, 0.7F, 1.0F, 1.5F, 4.0F};

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

std::vector<uint64_t> draws(uint64_t stream, uint64_t row_id, size_t count) {
  std::vector<uint64_t> out;
  const uint64_t seed = mix(stream << 32 | row_id);
  for (size_t i = 1; i <= count; ++i) out.push_back(mix(seed + i));
  return out;
}

std::vector<float> row(uint64_t row_id) {
  std::vector<float> out;
  for (const uint64_t x : draws(1, row_id, kVocabulary)) {
    out.push_back(static_cast<float>(x >> 40) * 0x1p-20F - 8.0F);
  }
  return out;
}

std::vector<Token> known(uint64_t row_id) {
  std::vector<Token> out;
  for (const uint64_t x : draws(2, row_id, kKnown)) out.push_back(static_cast<Token>(x % 50));
  return out;
}

template <size_t N>
float of(const std::array<float, N>& values, uint64_t row_id) {
  return values[row_id % N];
}

// CRC-32 as zlib has it.
uint32_t crc32(uint32_t crc, uint32_t word) {
  for (int byte = 0; byte < 4; ++byte) {
    crc ^= word >> (8 * byte) & 0xffU;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1U ? 0xedb88320U : 0U);
  }
  return crc;
}
uint32_t sum_of(std::span<const float> logits) {
  uint32_t crc = ~0U;
  for (const float x : logits) crc = crc32(crc, std::bit_cast<uint32_t>(x));
  return ~crc;
}
uint32_t sum_of(std::span<const Candidate> kept) {
  uint32_t crc = ~0U;
  for (const Candidate& c : kept) crc = crc32(crc, static_cast<uint32_t>(c.index));
  return ~crc;
}

class SamplerGolden : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::ifstream file(O3_SOURCE_DIR "/tests/golden/logits_processors.json");
    golden() = nlohmann::json::parse(file);
  }
  static nlohmann::json& golden() {
    static nlohmann::json parsed;
    return parsed;
  }
  // Calls `check` for every row of a processor with what the file has of it.
  static void for_rows(const char* name,
                       const std::function<void(uint64_t, const nlohmann::json&)>& check) {
    const nlohmann::json& part = golden()[name];
    const auto skipped = part["skipped"].get<std::set<uint64_t>>();
    ASSERT_EQ(part["rows"].size(), 1000U);
    uint64_t id = 0;
    for (const nlohmann::json& expected : part["rows"]) {
      while (skipped.contains(id)) ++id;
      check(id, expected);
      if (HasFailure()) FAIL() << name << " row " << id;
      ++id;
    }
  }
  static void expect_edit(const char* name,
                          const std::function<void(uint64_t, std::span<float>)>& edit) {
    for_rows(name, [&](uint64_t id, const nlohmann::json& expected) {
      std::vector<float> logits = row(id);
      edit(id, logits);
      EXPECT_EQ(sum_of(logits), expected.get<uint32_t>());
    });
  }
  static void expect_kept(const char* name, const std::function<SamplingParams(uint64_t)>& params) {
    Truncation truncation(kVocabulary);
    for_rows(name, [&](uint64_t id, const nlohmann::json& expected) {
      const std::vector<float> logits = row(id);
      truncation.run(logits, truncation.scan(logits), params(id));
      ASSERT_FALSE(truncation.everything());
      EXPECT_EQ(sum_of(truncation.kept()), expected.get<uint32_t>())
          << truncation.kept().size() << " kept";
    });
  }
};

TEST_F(SamplerGolden, Temperature) {
  Truncation truncation(kVocabulary);
  for_rows("temperature", [&](uint64_t id, const nlohmann::json& expected) {
    const std::vector<float> logits = row(id);
    SamplingParams params;
    params.temperature = of(kTemperatures, id);
    truncation.run(logits, truncation.scan(logits), params);
    ASSERT_TRUE(truncation.everything());
    double total = 0.0;
    for (const float weight : truncation.weights()) total += weight;
    double entropy = 0.0;
    for (const float weight : truncation.weights()) {
      if (weight > 0.0F) entropy -= weight / total * std::log(weight / total);
    }
    EXPECT_NEAR(entropy, expected.get<double>(), 2e-5);
  });
}

TEST_F(SamplerGolden, TopK) {
  constexpr std::array kTopK{1.0F, 2.0F, 40.0F, 999.0F};
  expect_kept("top_k", [&](uint64_t id) {
    SamplingParams params;
    params.top_k = static_cast<int32_t>(of(kTopK, id));
    return params;
  });
}

TEST_F(SamplerGolden, TopP) {
  constexpr std::array kTopP{0.05F, 0.5F, 0.9F, 0.99F};
  expect_kept("top_p", [&](uint64_t id) {
    SamplingParams params;
    params.top_p = of(kTopP, id);
    return params;
  });
}

TEST_F(SamplerGolden, MinP) {
  constexpr std::array kMinP{0.001F, 0.05F, 0.3F};
  expect_kept("min_p", [&](uint64_t id) {
    SamplingParams params;
    params.min_p = of(kMinP, id);
    return params;
  });
}

TEST_F(SamplerGolden, Typical) {
  constexpr std::array kTypical{0.1F, 0.5F, 0.95F};
  expect_kept("typical", [&](uint64_t id) {
    SamplingParams params;
    params.typical_p = of(kTypical, id);
    return params;
  });
}

TEST_F(SamplerGolden, AllTogetherInTheOrderOfGeneration) {
  expect_kept("chain", [](uint64_t id) {
    SamplingParams params;
    params.temperature = of(kTemperatures, id);
    params.top_k = id % 2 == 0 ? 20 : 300;
    params.top_p = 0.9F;
    params.min_p = 0.02F;
    params.typical_p = 0.8F;
    return params;
  });
}

TEST_F(SamplerGolden, RepetitionPenalty) {
  constexpr std::array kPenalties{0.5F, 1.1F, 1.5F, 2.0F};
  expect_edit("repetition_penalty", [&](uint64_t id, std::span<float> logits) {
    const auto ids = known(id);
    TokenHistory history;
    history.add_prompt(std::span(ids).first(kKnown - kAnswer));
    for (const Token token : std::span(ids).last(kAnswer)) history.add_sampled(token);
    SamplingParams params;
    params.repetition_penalty = of(kPenalties, id);
    apply_penalties(logits, history, params);
  });
}

TEST_F(SamplerGolden, FrequencyAndPresencePenalty) {
  constexpr std::array kFrequency{-0.5F, 0.25F, 2.0F};
  constexpr std::array kPresence{0.5F, -1.5F, 0.0F};
  expect_edit("frequency_and_presence", [&](uint64_t id, std::span<float> logits) {
    const auto ids = known(id);
    TokenHistory history;
    history.add_prompt(std::span(ids).first(kKnown - kAnswer));
    for (const Token token : std::span(ids).last(kAnswer)) history.add_sampled(token);
    SamplingParams params;
    params.frequency_penalty = of(kFrequency, id);
    params.presence_penalty = of(kPresence, id);
    apply_penalties(logits, history, params);
  });
}

TEST_F(SamplerGolden, LogitBias) {
  constexpr std::array kBias{-100.0F, -1.5F, 0.75F, 100.0F};
  expect_edit("logit_bias", [&](uint64_t id, std::span<float> logits) {
    std::vector<TokenBias> bias;
    for (uint64_t i = 0; i < 8; ++i) {
      bias.push_back({static_cast<Token>(10 * i + id % 10), of(kBias, id + i)});
    }
    apply_bias(logits, bias);
  });
}

TEST_F(SamplerGolden, BadWords) {
  expect_edit("bad_words", [](uint64_t id, std::span<float> logits) {
    const auto ids = known(id);
    const auto back = [&](size_t i) { return ids[ids.size() - i]; };
    const auto r = static_cast<Token>(id % 100);
    const std::vector<std::vector<Token>> words{{7},
                                                {back(1), 60 + r},
                                                {back(2), back(1), 200 + r},
                                                {back(3), back(1) + 500, 300},
                                                {back(1) + 500, 400},
                                                {410, 411, 412}};
    // The border between prompt and answer is of no importance: it moves with the rows.
    const size_t prompt = id % kKnown;
    forbid_bad_words(logits, {std::span(ids).first(prompt), std::span(ids).subspan(prompt)}, words);
  });
}

TEST_F(SamplerGolden, MinTokens) {
  constexpr std::array<Token, 2> kStops{3, 5};
  expect_edit("min_tokens", [&](uint64_t id, std::span<float> logits) {
    if (kAnswer < kAnswer + id % 2) forbid(logits, kStops);
  });
}

TEST_F(SamplerGolden, Mask) {
  Sampler sampler(kVocabulary);
  expect_edit("mask", [&](uint64_t id, std::span<float> logits) {
    std::vector<uint32_t> mask((kVocabulary + 31) / 32);
    for (const uint64_t x : draws(3, id, 30))
      mask[x % kVocabulary / 32] |= 1U << x % kVocabulary % 32;
    ASSERT_TRUE(sampler.sample(logits, SamplingParams{}, mask, 0).ok());
  });
}

}  // namespace
}  // namespace o3::engine
