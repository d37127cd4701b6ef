// SPDX-License-Identifier: Apache-2.0
#include "cache/prefix_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cache/testing/fake_backend.h"

namespace o3::cache {
namespace {

constexpr int32_t kUnit = 64;  // of two_groups(): 4 pages of 16 tokens and 1 of 64
constexpr int32_t kUnitPages = 5;

PageLayout two_groups() {
  return *make_page_layout(std::vector{CacheSpec{.kv_heads = 1, .head_dim = 16},
                                       CacheSpec{.kv_heads = 1, .head_dim = 4}},
                           16);
}

std::vector<Token> iota(int32_t n, Token first = 0) {
  std::vector<Token> tokens(static_cast<size_t>(n));
  for (Token& token : tokens) token = first++;
  return tokens;
}

uint64_t collide(uint64_t /*parent*/, std::span<const Token> /*tokens*/) noexcept {
  return 42;
}

class PrefixIndexTest : public testing::Test {
 protected:
  void make(uint32_t blocks, PrefixIndex::Hash hash = &PrefixIndex::mix) {
    index_.reset();
    pool_ = *BlockPool::create(backend_, two_groups(), blocks);
    index_ = std::make_unique<PrefixIndex>(*pool_, hash);
  }
  // As a sequence would: computes whole units of `tokens`, publishes and ends.
  void remember(const CacheDomain& domain, std::span<const Token> tokens) {
    std::vector<BlockLease> own;
    const PrefixMatch known = index_->match(domain, tokens);
    PrefixNode* node = known.node;
    if (node != nullptr) index_->pin(node);
    for (auto rest = tokens.subspan(static_cast<size_t>(known.tokens)); std::ssize(rest) >= kUnit;
         rest = rest.subspan(kUnit)) {
      if (pool_->free_blocks() < kUnitPages) index_->evict(kUnitPages - pool_->free_blocks());
      own.push_back(*pool_->take(kUnitPages));
      node = index_->publish(domain, node, rest.first(kUnit), own.back().ids());
    }
    if (node != nullptr) index_->unpin(node);
  }
  int32_t known(const CacheDomain& domain, std::span<const Token> tokens) {
    return index_->match(domain, tokens).tokens;
  }

  FakeBackend backend_;
  std::unique_ptr<BlockPool> pool_;
  std::unique_ptr<PrefixIndex> index_;
  CacheDomain a_{.tenant = "a"};
  CacheDomain b_{.tenant = "b"};
};

TEST_F(PrefixIndexTest, AUnitIsWholePagesOfEveryGroup) {
  make(20);
  EXPECT_EQ(index_->unit_tokens(), kUnit);
  EXPECT_EQ(index_->unit_pages(), kUnitPages);
}

TEST_F(PrefixIndexTest, FindsTheLongestBeginningInWholeUnits) {
  make(40);
  const auto tokens = iota(3 * kUnit);
  remember(a_, tokens);
  EXPECT_EQ(known(a_, tokens), 3 * kUnit);
  EXPECT_EQ(known(a_, std::span(tokens).first(3 * kUnit - 1)), 2 * kUnit);
  EXPECT_EQ(known(a_, std::span(tokens).first(kUnit - 1)), 0);
  auto other = tokens;
  other[kUnit + 7] = -5;
  EXPECT_EQ(known(a_, other), kUnit);
  other = tokens;
  other[0] = 9;
  EXPECT_EQ(known(a_, other), 0);
  // The same unit at another place is another.
  EXPECT_EQ(known(a_, std::span(tokens).subspan(kUnit)), 0);
}

TEST_F(PrefixIndexTest, DomainsNeverShare) {
  make(40);
  const auto tokens = iota(2 * kUnit);
  remember(a_, tokens);
  EXPECT_EQ(known(b_, tokens), 0);
  EXPECT_EQ(known({.tenant = "a", .model_revision = 1}, tokens), 0);
  EXPECT_EQ(known({.tenant = "a", .policy = 1}, tokens), 0);
  EXPECT_EQ(known({.tenant = "a", .salt = "x"}, tokens), 0);
  remember(b_, tokens);
  const PrefixMatch a = index_->match(a_, tokens);
  const PrefixMatch b = index_->match(b_, tokens);
  ASSERT_EQ(b.tokens, 2 * kUnit);
  for (const uint32_t id : a.node->pages.ids()) {
    EXPECT_EQ(std::ranges::count(b.node->pages.ids(), id), 0);
  }
}

TEST_F(PrefixIndexTest, AHashThatAlwaysCollidesGivesNoWrongReuse) {
  make(200, &collide);
  const auto one = iota(3 * kUnit);
  const auto two = iota(3 * kUnit, 1000);
  remember(a_, one);
  EXPECT_EQ(known(a_, two), 0);
  remember(a_, two);
  remember(b_, one);
  std::vector<Token> mixed(one);
  std::copy(two.begin() + kUnit, two.end(), mixed.begin() + kUnit);
  EXPECT_EQ(known(a_, mixed), kUnit);
  EXPECT_EQ(known(a_, one), 3 * kUnit);
  EXPECT_EQ(known(a_, two), 3 * kUnit);
  EXPECT_NE(index_->match(a_, one).node, index_->match(b_, one).node);
  index_->evict(INT64_MAX);
  EXPECT_EQ(pool_->free_blocks(), 200u);
}

TEST_F(PrefixIndexTest, PublishingWhatIsKnownGivesTheFirstPages) {
  make(40);
  const auto tokens = iota(kUnit);
  auto first = *pool_->take(kUnitPages);
  auto second = *pool_->take(kUnitPages);
  PrefixNode* one = index_->publish(a_, nullptr, tokens, first.ids());
  PrefixNode* two = index_->publish(a_, nullptr, tokens, second.ids());
  EXPECT_EQ(one, two);
  EXPECT_EQ(one->pins, 2);
  EXPECT_TRUE(std::ranges::equal(two->pages.ids(), first.ids()));
  EXPECT_EQ(pool_->holders(second.ids()[0]), 1u);
  EXPECT_EQ(index_->pinned_units(), 1);
}

TEST_F(PrefixIndexTest, PinnedUnitsStayAndTheLeastRecentlyUsedGoFirst) {
  make(6 * kUnitPages);
  const auto x = iota(2 * kUnit);
  const auto y = iota(2 * kUnit, 1000);
  const auto z = iota(2 * kUnit, 2000);
  remember(a_, x);
  remember(a_, y);
  remember(b_, z);
  EXPECT_EQ(pool_->free_blocks(), 0u);
  EXPECT_EQ(index_->evictable_pages(), 6 * kUnitPages);
  PrefixNode* pinned = index_->match(a_, x).node;
  index_->pin(pinned);
  EXPECT_EQ(index_->pinned_units(), 2);
  EXPECT_EQ(index_->evictable_pages(), 4 * kUnitPages);
  index_->evict(1);  // y's end, the oldest
  EXPECT_EQ(pool_->free_blocks(), static_cast<uint32_t>(kUnitPages));
  EXPECT_EQ(known(a_, y), kUnit);
  remember(a_, std::span(y).first(kUnit));  // used again: now z is older
  index_->evict(2 * kUnitPages);
  EXPECT_EQ(known(b_, z), 0);
  EXPECT_EQ(known(a_, y), kUnit);
  index_->evict(INT64_MAX);
  EXPECT_EQ(known(a_, y), 0);
  EXPECT_EQ(known(a_, x), 2 * kUnit);
  index_->unpin(pinned);
  index_->evict(INT64_MAX);
  EXPECT_EQ(pool_->free_blocks(), pool_->total_blocks());
  EXPECT_EQ(index_->evictable_pages(), 0);
}

TEST_F(PrefixIndexTest, AForecastAgreesWithThePins) {
  make(60);
  const auto x = iota(3 * kUnit);
  auto y = x;
  y.back() = -1;
  remember(a_, x);
  remember(a_, y);
  PrefixNode* to_x = index_->match(a_, x).node;
  PrefixNode* to_y = index_->match(a_, y).node;
  PinForecast forecast(*index_);
  EXPECT_EQ(forecast.pin(to_x), 3 * kUnitPages);
  EXPECT_EQ(forecast.pin(to_y), kUnitPages);  // two units are pinned by the first
  EXPECT_EQ(forecast.unpin(to_x), kUnitPages);
  EXPECT_EQ(forecast.unpin(to_y), 3 * kUnitPages);
  EXPECT_EQ(forecast.pin(nullptr), 0);
  index_->pin(to_x);
  index_->pin(to_x);
  PinForecast later(*index_);
  EXPECT_EQ(later.unpin(to_x), 0);
  EXPECT_EQ(later.unpin(to_x), 3 * kUnitPages);
  index_->unpin(to_x);
  index_->unpin(to_x);
}

// Sequences come, pin, publish and go at random: pages are conserved, what is found is what was
// put there, and everything can be given up in the end.
TEST_F(PrefixIndexTest, RandomUseConservesPages) {
  for (const auto hash : {&PrefixIndex::mix, &collide}) {
    make(30 * kUnitPages, hash);
    std::mt19937 random(7);
    std::vector<PrefixNode*> pins;
    for (int step = 0; step < 3000; ++step) {
      const CacheDomain& domain = random() % 2 == 0 ? a_ : b_;
      std::vector<Token> tokens;
      for (uint32_t unit = 0, n = random() % 5; unit < n; ++unit) {
        const auto part = iota(kUnit, static_cast<Token>(random() % 3) * 1000);
        tokens.insert(tokens.end(), part.begin(), part.end());
      }
      switch (random() % 4) {
        case 0:
          if (pins.size() < 5) {
            const PrefixMatch match = index_->match(domain, tokens);
            if (match.node == nullptr) break;
            ASSERT_TRUE(std::ranges::equal(
                match.node->tokens,
                std::span(tokens).subspan(static_cast<size_t>(match.tokens - kUnit), kUnit)));
            index_->pin(match.node);
            pins.push_back(match.node);
          }
          break;
        case 1:
          if (pins.empty()) break;
          std::swap(pins.back(), pins[random() % pins.size()]);
          index_->unpin(pins.back());
          pins.pop_back();
          break;
        case 2:
          index_->evict(random() % 10);
          break;
        default:
          remember(domain, tokens);
      }
      ASSERT_EQ(
          pool_->free_blocks() + index_->evictable_pages() + index_->pinned_units() * kUnitPages,
          pool_->total_blocks());
      ASSERT_TRUE(pool_->check_integrity().ok());
    }
    for (PrefixNode* node : pins) index_->unpin(node);
    index_->evict(INT64_MAX);
    EXPECT_EQ(pool_->free_blocks(), pool_->total_blocks());
  }
}

}  // namespace
}  // namespace o3::cache
