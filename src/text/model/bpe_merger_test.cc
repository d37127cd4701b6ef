// SPDX-License-Identifier: Apache-2.0
#include "text/model/bpe_merger.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "text/testing/synthetic_vocabulary.h"

namespace o3::text {
namespace {

Result<Vocabulary> vocabulary_of(const TokenizerSpec& spec) {
  std::vector<TokenKind> kinds;
  for (const int32_t kind : spec.kinds) kinds.push_back(static_cast<TokenKind>(kind));
  return Vocabulary::build(spec.tokens, kinds, TextForm::kByteAlphabet);
}

Result<MergeTable> table_of(std::span<const std::string_view> merges,
                            const Vocabulary& vocabulary) {
  O3_ASSIGN(const std::vector<MergePair> pairs, split_merges(merges));
  return MergeTable::build(pairs, vocabulary);
}

// A random chain of merges over the letters a to d, longer and longer pieces.
SyntheticVocabulary random_vocabulary(std::mt19937& random, int merges) {
  SyntheticVocabulary vocabulary;
  std::vector<std::string> made{"a", "b", "c", "d"};
  std::set<std::string> seen(made.begin(), made.end());
  for (int i = 0; i < merges; ++i) {
    const std::string left = made[random() % made.size()];
    const std::string right = made[random() % made.size()];
    if (!seen.insert(left + right).second) continue;
    vocabulary.merge(left, right);
    made.push_back(left + right);
  }
  return vocabulary;
}

// The definition, read literally.
std::vector<Token> merged_by_definition(const MergeTable& merges, std::vector<Token> symbols) {
  while (true) {
    Merge best;
    size_t at = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const Merge merge = merges.find(symbols[i], symbols[i + 1]);
      if (merge.rank < best.rank) {
        best = merge;
        at = i;
      }
    }
    if (best.rank == kNoMerge) return symbols;
    symbols[at] = best.token;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, ScanAndHeapEqualTheDefinition) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const SyntheticVocabulary source = random_vocabulary(random, 5 + round);
    const TokenizerSpec spec = source.spec();
    const auto vocabulary = vocabulary_of(spec);
    ASSERT_TRUE(vocabulary.ok());
    const auto merges = table_of(spec.merges, *vocabulary);
    ASSERT_TRUE(merges.ok());
    BpeMerger merger(*merges);
    for (size_t length = 0; length < 130; length += 1 + length / 8) {
      std::vector<Token> symbols;
      for (size_t i = 0; i < length; ++i) {
        symbols.push_back(source.byte(static_cast<char>('a' + random() % 4)));
      }
      const auto expected = merged_by_definition(*merges, symbols);
      auto scanned = symbols;
      merger.merge_by_scan(scanned);
      ASSERT_EQ(scanned, expected);
      auto heaped = symbols;
      merger.merge_by_heap(heaped);
      ASSERT_EQ(heaped, expected);
      merger.merge(symbols);
      ASSERT_EQ(symbols, expected);
    }
  }
}

TEST(Bpe, EqualPairsMergeFromTheLeft) {
  SyntheticVocabulary source;
  source.merge("a", "a");
  const TokenizerSpec spec = source.spec();
  const auto vocabulary = vocabulary_of(spec);
  const auto merges = table_of(spec.merges, *vocabulary);
  BpeMerger merger(*merges);
  const Token a = source.byte('a');
  const Token aa = source.merged(0);
  for (const auto way : {&BpeMerger::merge_by_scan, &BpeMerger::merge_by_heap}) {
    std::vector<Token> symbols{a, a, a};
    (merger.*way)(symbols);
    EXPECT_EQ(symbols, (std::vector<Token>{aa, a}));
  }
}

TEST(MergeTable, RefusesWhatTheVocabularyDoesNotHold) {
  SyntheticVocabulary source;
  source.merge("a", "b");
  TokenizerSpec spec = source.spec();
  const auto vocabulary = vocabulary_of(spec);
  ASSERT_TRUE(vocabulary.ok());
  for (const std::string_view bad :
       {"ab", "a c", " a", "a ", " ", "", "a b c", "a\xE2\x82\xAC b"}) {
    const std::vector<std::string_view> merges{"a b", bad};
    const auto table = table_of(merges, *vocabulary);
    ASSERT_FALSE(table.ok()) << bad;
    EXPECT_EQ(table.error().code, Code::kInvalid);
    EXPECT_NE(table.error().message.find("merge 1"), std::string::npos) << table.error().message;
  }
}

}  // namespace
}  // namespace o3::text
