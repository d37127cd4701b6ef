// SPDX-License-Identifier: Apache-2.0
#include "base/local_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace o3 {
namespace {

using std::chrono::seconds;

// POSIX zone texts need no zone files. The tests of this program run one after another.
seconds local_in(const char* zone, seconds utc) {
  setenv("TZ", zone, 1);
  tzset();
  const seconds local = local_time(utc);
  unsetenv("TZ");
  tzset();
  return local;
}

TEST(LocalTime, IsTheZonesTime) {
  const seconds winter(1'768'478'400);  // 2026-01-15 12:00 UTC
  const seconds summer(1'784'116'800);  // 2026-07-15 12:00 UTC
  EXPECT_EQ(local_in("UTC0", winter), winter);
  const char* berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
  EXPECT_EQ(local_in(berlin, winter) - winter, seconds(3600));
  EXPECT_EQ(local_in(berlin, summer) - summer, seconds(7200));
  EXPECT_EQ(local_in("NST3:30", winter) - winter, seconds(-12600));
}

TEST(LocalTime, KeepsWholeSeconds) {
  EXPECT_EQ(local_in("UTC0", seconds(5)), seconds(5));
  setenv("TZ", "UTC0", 1);
  tzset();
  EXPECT_EQ(local_time(std::chrono::nanoseconds(-1)), seconds(-1));
}

}  // namespace
}  // namespace o3
