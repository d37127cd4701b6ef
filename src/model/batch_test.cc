// SPDX-License-Identifier: Apache-2.0
#include "model/batch.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace o3::model {
namespace {

using kernels::AttnSequence;

// Two sequences side by side: 4 new tokens of one that then holds 10, 1 of one that holds 7.
class CutToRows : public testing::Test {
 protected:
  std::array<uint32_t, 1> first_table_{};
  std::array<uint32_t, 1> second_table_{};
  std::vector<AttnSequence> sequences_{
      {.row_begin = 0, .rows = 4, .kv_len = 10, .table = first_table_.data()},
      {.row_begin = 4, .rows = 1, .kv_len = 7, .table = second_table_.data()}};
};

TEST_F(CutToRows, EveryRowGivesTheSameSequences) {
  const std::array<int32_t, 5> rows{0, 1, 2, 3, 4};
  const auto runs = cut_to_rows(sequences_, rows);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].rows, 4);
  EXPECT_EQ(runs[0].kv_len, 10);
  EXPECT_EQ(runs[1].row_begin, 4);
  EXPECT_EQ(runs[1].kv_len, 7);
}

TEST_F(CutToRows, EachRunSeesTheTokensUpToItsEnd) {
  const std::array<int32_t, 3> rows{1, 3, 4};
  const auto runs = cut_to_rows(sequences_, rows);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].row_begin, 1);
  EXPECT_EQ(runs[0].rows, 1);
  EXPECT_EQ(runs[0].kv_len, 8);  // 6 before the step, rows 0 and 1
  EXPECT_EQ(runs[0].table, first_table_.data());
  EXPECT_EQ(runs[1].row_begin, 3);
  EXPECT_EQ(runs[1].kv_len, 10);
  EXPECT_EQ(runs[2].kv_len, 7);
  EXPECT_EQ(runs[2].table, second_table_.data());
}

TEST_F(CutToRows, SequencesWithoutWantedRowsVanish) {
  const std::array<int32_t, 1> rows{4};
  const auto runs = cut_to_rows(sequences_, rows);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].row_begin, 4);
  EXPECT_TRUE(cut_to_rows(sequences_, {}).empty());
}

TEST(KeepRows, MovesRowsToTheFront) {
  std::array<float, 12> values{};
  std::iota(values.begin(), values.end(), 0.0F);
  const auto matrix = device::matrix_view(values.data(), device::DType::kF32, 4, 3);
  const std::array<int32_t, 2> rows{1, 3};
  const auto kept = keep_rows(matrix, rows);
  EXPECT_EQ(kept.rows(), 2);
  EXPECT_EQ(kept.row<float>(0)[0], 3.0F);
  EXPECT_EQ(kept.row<float>(1)[2], 11.0F);
}

TEST(LayerViews, FindEachLayerInItsGroup) {
  const cache::CacheSpec full{.kv_heads = 2, .head_dim = 16};
  cache::CacheSpec other = full;
  other.head_dim = 8;
  const std::array specs{full, other, full};
  auto layout = cache::make_page_layout(specs, 16);
  ASSERT_TRUE(layout.ok());
  const KvView kv{.pool = nullptr, .layout = &*layout};
  const auto views = layer_views(kv, specs.size());
  ASSERT_EQ(layout->groups.size(), 2U);
  EXPECT_EQ(views[0].group, views[2].group);
  EXPECT_NE(views[0].group, views[1].group);
  EXPECT_EQ(views[1].pages.head_dim, 8);
  EXPECT_EQ(views[2].pages.k_offset, layout->groups[views[2].group].k_offset(1));
  EXPECT_EQ(views[2].pages.page_bytes, layout->page_bytes);
}

TEST(CheckBatch, BreachesAbort) {
  const std::array<Token, 2> tokens{1, 2};
  const std::array<kernels::Position, 2> positions{};
  std::array<float, 8> storage{};
  const auto logits = device::matrix_view(storage.data(), device::DType::kF32, 2, 4);
  const std::array<int32_t, 2> descending{1, 0};
  BatchView batch{.tokens = tokens, .positions = positions, .sequences = {}, .logit_rows = {}};
  check_batch(batch, 4, logits);
  batch.logit_rows = descending;
  EXPECT_DEATH(check_batch(batch, 4, logits), "ascend");
  const std::array<int32_t, 2> outside{0, 2};
  batch.logit_rows = outside;
  EXPECT_DEATH(check_batch(batch, 4, logits), "logit rows, vocabulary");
}

}  // namespace
}  // namespace o3::model
