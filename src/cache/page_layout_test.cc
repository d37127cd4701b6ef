// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "cache/cache_spec.h"

namespace o3::cache {
namespace {

CacheSpec full(int32_t kv_heads, int32_t head_dim, device::DType dtype = device::DType::kF16) {
  return CacheSpec{.kv_heads = kv_heads, .head_dim = head_dim, .dtype = dtype};
}

CacheSpec windowed(int32_t kv_heads, int32_t head_dim, int32_t window) {
  CacheSpec spec = full(kv_heads, head_dim);
  spec.kind = CacheKind::kSlidingWindow;
  spec.window = window;
  return spec;
}

TEST(PageLayout, OneGroupHoldsTheTokensAskedFor) {
  const std::vector<CacheSpec> layers(30, full(3, 64));  // SmolLM2-135M
  const auto layout = make_page_layout(layers, 32);
  ASSERT_TRUE(layout.ok());
  ASSERT_EQ(layout->groups.size(), 1u);
  const KvGroup& group = layout->groups[0];
  EXPECT_EQ(group.page_tokens, 32);
  EXPECT_EQ(group.layers.size(), 30u);
  EXPECT_EQ(group.plane_bytes(), 3 * 32 * 64 * 2);
  EXPECT_EQ(layout->page_bytes, 30 * 2 * 3 * 32 * 64 * 2);
  EXPECT_EQ(group.k_offset(0), 0);
  EXPECT_EQ(group.v_offset(0), group.plane_bytes());
  EXPECT_EQ(group.k_offset(29), 58 * group.plane_bytes());
  EXPECT_EQ(group.v_offset(29) + group.plane_bytes(), layout->page_bytes);
}

TEST(PageLayout, SmallerGroupsGetMoreTokensPerPage) {
  // Five windowed layers for each full one, as in Gemma 3.
  std::vector<CacheSpec> layers;
  layers.reserve(18);
  for (int i = 0; i < 18; ++i) layers.push_back(i % 6 == 5 ? full(1, 256) : windowed(1, 256, 512));
  const auto layout = make_page_layout(layers, 32);
  ASSERT_TRUE(layout.ok());
  ASSERT_EQ(layout->groups.size(), 2u);
  EXPECT_EQ(layout->groups[0].spec.kind, CacheKind::kSlidingWindow);
  EXPECT_EQ(layout->groups[0].page_tokens, 32);
  EXPECT_EQ(layout->groups[1].layers, (std::vector<int32_t>{5, 11, 17}));
  EXPECT_EQ(layout->groups[1].page_tokens, 128);  // 5 x 32 = 160 fit; the power of two below
  for (const KvGroup& group : layout->groups) {
    const auto last = static_cast<int32_t>(group.layers.size()) - 1;
    EXPECT_LE(group.v_offset(last) + group.plane_bytes(), layout->page_bytes);
  }
}

TEST(PageLayout, CountsThePagesOfASequenceOverAllGroups) {
  PageLayout layout;
  layout.groups.resize(2);
  layout.groups[0].page_tokens = 32;
  layout.groups[1].page_tokens = 128;
  EXPECT_EQ(pages_for(layout, 0), 0);
  EXPECT_EQ(pages_for(layout, 1), 2);
  EXPECT_EQ(pages_for(layout, 32), 2);
  EXPECT_EQ(pages_for(layout, 33), 3);
  EXPECT_EQ(pages_for(layout, 129), 5 + 2);
}

TEST(PageLayout, PagesStartOnCacheLines) {
  const std::vector<CacheSpec> layers{full(1, 1), full(1, 1)};
  const auto layout = make_page_layout(layers, 16);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->page_bytes % 64, 0);
}

TEST(PageLayout, RefusesWhatNoKernelServes) {
  CacheSpec state = full(1, 64);
  state.kind = CacheKind::kState;
  EXPECT_EQ(make_page_layout(std::vector{state}, 32).error().code, Code::kUnsupported);
  const auto quantized = make_page_layout(std::vector{full(1, 64, device::DType::kQ8_0)}, 32);
  ASSERT_FALSE(quantized.ok());
  EXPECT_EQ(quantized.error().code, Code::kUnsupported);
  EXPECT_NE(quantized.error().message.find("Q8_0"), std::string::npos);
}

TEST(PageLayout, RefusesShapesOutOfRange) {
  const auto code = [](std::vector<CacheSpec> layers, int32_t page_tokens) {
    const auto layout = make_page_layout(layers, page_tokens);
    return layout.ok() ? Code::kInternal : layout.error().code;
  };
  EXPECT_EQ(code({}, 32), Code::kInvalid);
  for (const int32_t tokens : {0, -16, 8, 17, 48, 512}) {
    EXPECT_EQ(code({full(1, 64)}, tokens), Code::kInvalid) << tokens;
  }
  EXPECT_EQ(code({full(0, 64)}, 32), Code::kInvalid);
  EXPECT_EQ(code({full(-1, 64)}, 32), Code::kInvalid);
  EXPECT_EQ(code({full(1, 1 << 20)}, 32), Code::kInvalid);
  EXPECT_EQ(code({windowed(1, 64, 0)}, 32), Code::kInvalid);
  CacheSpec odd = full(1, 64);
  odd.window = 4;
  EXPECT_EQ(code({odd}, 32), Code::kInvalid);
}

}  // namespace
}  // namespace o3::cache
