// SPDX-License-Identifier: Apache-2.0
#include "api/http/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace o3::api::http {
namespace {

TEST(Descriptors, ConnectionsLeaveTheRestOfTheProcessItsOwn) {
  EXPECT_EQ(*connections_within(1U << 20, 8192, 2), 8192U);
  const size_t fit = *connections_within(1024, 8192, 2);
  EXPECT_LT(fit, 1024U - 64U);
  EXPECT_GT(fit, 900U);
  EXPECT_EQ(*connections_within(1024, 8192, 12), fit - 40) << "io threads have theirs";
  EXPECT_EQ(*connections_within(1024, fit, 2), fit);
  EXPECT_EQ(*connections_within(1024, fit + 1, 2), fit);
}

TEST(Descriptors, TooFewAreRefusedWithTheWayOut) {
  for (const size_t limit : {0U, 20U, 64U, 80U}) {
    const auto refused = connections_within(limit, 8192, 2);
    ASSERT_FALSE(refused.ok()) << limit;
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_NE(refused.error().message.find("ulimit -n"), std::string::npos);
  }
  EXPECT_EQ(*connections_within(73, 1, 2), 1U) << "whoever wants few needs few";
}

TEST(Descriptors, TheSoftLimitIsRaisedToWhatIsNeeded) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 1200) GTEST_SKIP() << "the hard limit is too low to see it";
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(*make_room_for_connections(1000, 2), 1000U);
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_GT(after.rlim_cur, 1000U);
  EXPECT_LT(after.rlim_cur, 1200U) << "no more than that";
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  EXPECT_EQ(*make_room_for_connections(10, 2), 10U);
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_GT(after.rlim_cur, 1000U) << "never lowered";
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace o3::api::http
