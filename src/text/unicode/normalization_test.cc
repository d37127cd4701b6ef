// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/normalization.h"

#include <gtest/gtest.h>

namespace o3::text {
namespace {

TEST(Normalization, Forms) {
  EXPECT_EQ(normalized("e\xCC\x81", NormalForm::kNfc), "\xC3\xA9");
  EXPECT_EQ(normalized("\xC3\xA9", NormalForm::kNfd), "e\xCC\x81");
  EXPECT_EQ(normalized("\xEF\xAC\x81", NormalForm::kNfkc), "fi");
  EXPECT_EQ(normalized("\xEF\xAC\x81", NormalForm::kNfc), "\xEF\xAC\x81");
  // Hangul, by arithmetic.
  EXPECT_EQ(normalized("\xED\x95\x9C", NormalForm::kNfd), "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB");
  EXPECT_EQ(normalized("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", NormalForm::kNfc), "\xED\x95\x9C");
  // Canonical order; a mark of the same class blocks composition.
  EXPECT_EQ(normalized("a\xCC\x95\xCC\x80", NormalForm::kNfd), "a\xCC\x80\xCC\x95");
  EXPECT_EQ(normalized("a\xCC\x84\xCC\x81", NormalForm::kNfc), "\xC4\x81\xCC\x81");
  // Excluded from composition; a singleton.
  EXPECT_EQ(normalized("\xE0\xA5\x98", NormalForm::kNfc), "\xE0\xA4\x95\xE0\xA4\xBC");
  EXPECT_EQ(normalized("\xE2\x84\xAB", NormalForm::kNfc), "\xC3\x85");
}

TEST(Normalization, LaterCharactersDoNotDecompose) {
  EXPECT_EQ(normalized("\xE3\x8B\xBF", NormalForm::kNfkc), "\xE3\x8B\xBF");  // U+32FF, 12.1
}

}  // namespace
}  // namespace o3::text
