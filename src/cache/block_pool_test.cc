// SPDX-License-Identifier: Apache-2.0
#include "cache/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "cache/slot_usage.h"
#include "cache/testing/fake_backend.h"

namespace o3::cache {
namespace {

PageLayout small_layout() {
  return *make_page_layout(std::vector{CacheSpec{.kv_heads = 1, .head_dim = 8}}, 16);
}

std::unique_ptr<BlockPool> make_pool(FakeBackend& backend, uint32_t blocks) {
  return *BlockPool::create(backend, small_layout(), blocks);
}

TEST(BlockPool, AllocatesOnceWithTheKvTag) {
  FakeBackend backend;
  {
    auto pool = make_pool(backend, 10);
    const auto bytes = static_cast<size_t>(10 * pool->layout().page_bytes);
    EXPECT_EQ(backend.allocated(device::MemTag::kKv), bytes);
    for (int round = 0; round < 100; ++round) {
      auto lease = *pool->take(7);
      // The page is ours to write, from its first byte to its last.
      std::fill_n(pool->data() + lease.ids()[6] * pool->layout().page_bytes,
                  pool->layout().page_bytes, std::byte{1});
    }
    EXPECT_EQ(backend.allocations, 1);
  }
  EXPECT_EQ(backend.allocated(device::MemTag::kKv), 0u);
}

TEST(BlockPool, SaysWhyItCannotBeMade) {
  FakeBackend backend(100);
  EXPECT_EQ(BlockPool::create(backend, small_layout(), 10).error().code, Code::kExhausted);
  EXPECT_EQ(BlockPool::create(backend, small_layout(), 0).error().code, Code::kInvalid);
  EXPECT_EQ(BlockPool::create(backend, PageLayout{}, 1).error().code, Code::kInvalid);
  PageLayout huge = small_layout();
  huge.page_bytes = INT64_MAX;
  EXPECT_EQ(BlockPool::create(backend, huge, 3).error().code, Code::kInvalid);
}

TEST(BlockPool, TakesAllOrNothing) {
  FakeBackend backend;
  auto pool = make_pool(backend, 4);
  auto three = *pool->take(3);
  const auto refused = pool->take(2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kExhausted);
  EXPECT_EQ(refused.error().message, "2 KV pages asked for, 1 of 4 are free");
  EXPECT_EQ(pool->free_blocks(), 1u);
  EXPECT_TRUE(pool->extend(three, 1).ok());
  EXPECT_EQ(three.size(), 4u);
  EXPECT_EQ(pool->extend(three, 1).error().code, Code::kExhausted);
  EXPECT_EQ(three.size(), 4u);
  EXPECT_TRUE(pool->take(0).ok());
}

TEST(BlockPool, ReturnedPagesComeBackInTheirOldOrder) {
  FakeBackend backend;
  auto pool = make_pool(backend, 8);
  auto lease = *pool->take(5);
  const std::vector<uint32_t> ids(lease.ids().begin(), lease.ids().end());
  lease.release();
  auto again = *pool->take(5);
  EXPECT_TRUE(std::ranges::equal(again.ids(), ids));
}

TEST(BlockLease, MovesOwnership) {
  FakeBackend backend;
  auto pool = make_pool(backend, 8);
  auto a = *pool->take(2);
  BlockLease b(std::move(a));
  EXPECT_EQ(a.size(), 0u);  // NOLINT: a moved-from lease is empty, by contract
  auto c = *pool->take(3);
  c = std::move(b);  // c's three pages go back
  EXPECT_EQ(c.size(), 2u);
  EXPECT_EQ(pool->free_blocks(), 6u);
  auto more = *pool->take(1);
  c.append(std::move(more));
  EXPECT_EQ(c.size(), 3u);
  c.release();
  c.release();
  EXPECT_EQ(pool->free_blocks(), 8u);
  c.append(*pool->take(1));  // a released lease may be used again
  EXPECT_EQ(c.size(), 1u);
  EXPECT_TRUE(pool->check_integrity().ok());
}

TEST(BlockPoolDeathTest, MisuseIsABrokenInvariant) {
  FakeBackend backend;
  auto pool = make_pool(backend, 4);
  auto other = make_pool(backend, 4);
  auto a = *pool->take(1);
  auto b = *other->take(1);
  EXPECT_DEATH(a.append(std::move(b)), "two pools");
  EXPECT_DEATH(static_cast<void>(other->extend(a, 1)), "its own pool");
  EXPECT_DEATH(pool.reset(), "outlive its leases");
}

TEST(BlockPool, ASharedPageIsFreeWhenItsLastHolderLetsGo) {
  FakeBackend backend;
  auto pool = make_pool(backend, 6);
  auto first = *pool->take(3);
  auto second = *pool->take(1);
  pool->share(first.ids().first(2), second);
  EXPECT_EQ(second.size(), 3u);
  EXPECT_EQ(pool->free_blocks(), 2u);
  EXPECT_EQ(pool->holders(first.ids()[0]), 2u);
  EXPECT_EQ(pool->holders(first.ids()[2]), 1u);
  first.release();
  EXPECT_EQ(pool->free_blocks(), 3u);
  EXPECT_TRUE(pool->check_integrity().ok());
  auto third = *pool->take(2);
  const uint32_t given_up = third.ids()[1];
  pool->replace(third, 1, second.ids().first(1));
  EXPECT_EQ(third.ids()[1], second.ids()[0]);
  EXPECT_EQ(pool->holders(given_up), 0u);
  second.release();
  third.release();
  EXPECT_EQ(pool->free_blocks(), 6u);
}

TEST(BlockPoolDeathTest, AFreePageCannotBeShared) {
  FakeBackend backend;
  auto pool = make_pool(backend, 4);
  auto lease = *pool->take(1);
  const std::vector<uint32_t> free{lease.ids()[0] == 0 ? 1U : 0U};
  EXPECT_DEATH(pool->share(free, lease), "only a leased page");
}

// Take, append, move and release at random: pages are conserved and nobody gets another's.
TEST(BlockPool, RandomSequencesConservePages) {
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    FakeBackend backend;
    constexpr uint32_t kBlocks = 64;
    auto pool = make_pool(backend, kBlocks);
    std::vector<BlockLease> leases(8);
    for (int step = 0; step < 2000; ++step) {
      BlockLease& one = leases[random() % leases.size()];
      BlockLease& two = leases[random() % leases.size()];
      const uint32_t n = random() % 12;
      const uint32_t free_before = pool->free_blocks();
      switch (random() % 5) {
        case 0:
          EXPECT_EQ(pool->extend(one, n).ok(), n <= free_before);
          break;
        case 1:
          one.release();
          break;
        case 2:
          if (&one != &two) one.append(std::move(two));
          break;
        case 3:
          one = std::move(two);
          break;
        default:
          if (auto taken = pool->take(n); taken.ok()) one.append(*std::move(taken));
      }
      std::set<uint32_t> ids;
      size_t leased = 0;
      for (const BlockLease& lease : leases) {
        leased += lease.size();
        ids.insert(lease.ids().begin(), lease.ids().end());
      }
      ASSERT_EQ(ids.size(), leased) << "a page has two owners";
      ASSERT_EQ(leased + pool->free_blocks(), kBlocks);
      ASSERT_TRUE(pool->check_integrity().ok());
    }
  }
}

TEST(SlotUsage, FragmentationIsTheUnwrittenShareOverTime) {
  EXPECT_EQ(SlotUsage{}.fragmentation(), 0.0);
  EXPECT_DOUBLE_EQ((SlotUsage{.leased = 32, .written = 24}).fragmentation(), 0.25);
  SlotUsageAverage average;
  EXPECT_EQ(average.total().fragmentation(), 0.0);
  average.observe({.leased = 32, .written = 8}, std::chrono::seconds(10));
  average.observe({.leased = 32, .written = 24}, std::chrono::seconds(11));
  average.observe({}, std::chrono::seconds(14));    // 1 s at 8/32, 3 s at 24/32
  average.observe({}, std::chrono::seconds(1000));  // idle time does not count
  EXPECT_DOUBLE_EQ(average.total().fragmentation(), 1.0 - (8.0 + 3 * 24.0) / (4 * 32.0));
}

}  // namespace
}  // namespace o3::cache
