// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/category.h"

#include <gtest/gtest.h>

#include <map>

namespace o3::text {
namespace {

TEST(Category, KnownCharacters) {
  EXPECT_EQ(category('a'), Category::kLl);
  EXPECT_EQ(category('Z'), Category::kLu);
  EXPECT_EQ(category('_'), Category::kPc);
  EXPECT_EQ(category(0x7F), Category::kCc);
  EXPECT_EQ(category(0x1C5), Category::kLt);   // capital D with small z with caron
  EXPECT_EQ(category(0x301), Category::kMn);   // combining acute accent
  EXPECT_EQ(category(0x7FF), Category::kSc);   // last of the direct table
  EXPECT_EQ(category(0x800), Category::kLo);   // first beyond it
  EXPECT_EQ(category(0x966), Category::kNd);   // Devanagari zero
  EXPECT_EQ(category(0x2167), Category::kNl);  // Roman numeral eight
  EXPECT_EQ(category(0xBD), Category::kNo);    // one half
  EXPECT_EQ(category(0x4E00), Category::kLo);  // first ideograph
  EXPECT_EQ(category(0xD800), Category::kCs);
  EXPECT_EQ(category(0x1F600), Category::kSo);
  EXPECT_EQ(category(0x1C89), Category::kLu);  // new in Unicode 16
  EXPECT_EQ(category(0x10FFFF), Category::kCn);
  EXPECT_EQ(category(0x110000), Category::kCn);
}

// Numbers of code points in Unicode 16.0, DerivedGeneralCategory.txt.
TEST(Category, CountsAreThePublishedOnes) {
  std::map<Category, int> counts;
  int spaces = 0;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    ++counts[category(code)];
    spaces += is_white_space(code) ? 1 : 0;
  }
  EXPECT_EQ(counts[Category::kLu], 1858);
  EXPECT_EQ(counts[Category::kLl], 2258);
  EXPECT_EQ(counts[Category::kLo], 136477);
  EXPECT_EQ(counts[Category::kMn], 2020);
  EXPECT_EQ(counts[Category::kNd], 760);
  EXPECT_EQ(counts[Category::kNl], 236);
  EXPECT_EQ(counts[Category::kNo], 915);
  EXPECT_EQ(counts[Category::kCo], 137468);
  EXPECT_EQ(counts[Category::kCs], 2048);
  EXPECT_EQ(spaces, 25);  // PropList.txt, White_Space
}

}  // namespace
}  // namespace o3::text
