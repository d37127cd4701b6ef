// SPDX-License-Identifier: Apache-2.0
// docs/engine.md is the contract: each invariant there has a test of the same name, and each
// invariant tested here is written there.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

namespace o3::engine {
namespace {

std::set<std::string> invariants_in_the_document() {
  std::ifstream file(O3_SOURCE_DIR "/docs/engine.md");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#### ")) names.insert(line.substr(5));
  }
  return names;
}

std::set<std::string> invariants_in_the_tests() {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    if (!std::string(suite.name()).ends_with("Invariant")) continue;
    for (int t = 0; t < suite.total_test_count(); ++t) names.insert(suite.GetTestInfo(t)->name());
  }
  return names;
}

TEST(Contract, EveryInvariantHasATestOfTheSameName) {
  const auto written = invariants_in_the_document();
  const auto tested = invariants_in_the_tests();
  EXPECT_FALSE(written.empty());
  for (const std::string& name : written) EXPECT_TRUE(tested.contains(name)) << name << ": no test";
  for (const std::string& name : tested) {
    EXPECT_TRUE(written.contains(name)) << name << ": not in docs/engine.md";
  }
}

}  // namespace
}  // namespace o3::engine
