// SPDX-License-Identifier: Apache-2.0
#include "api/http/io_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace o3::api::http {
namespace {

using std::chrono::seconds;

void fail_in_a_library() {
  const std::vector<int> none;
  static_cast<void>(none.at(1));
}

TEST(IoThreadTest, AnExceptionInATickerStopsNeitherTheOthersNorTheNextTick) {
  const SystemClock clock;
  IoThread thread(0, clock);
  std::promise<void> third;
  int failed = 0;
  int other = 0;
  thread.on_tick([&](Nanoseconds /*now*/) {
    ++failed;
    fail_in_a_library();
  });
  thread.on_tick([&](Nanoseconds /*now*/) {
    if (++other == 3) third.set_value();
  });
  thread.start();
  EXPECT_EQ(third.get_future().wait_for(seconds(20)), std::future_status::ready);
  thread.stop();
  EXPECT_GE(failed, 3);
}

TEST(IoThreadTest, AnExceptionInAPostedCallEndsThatCallOnly) {
  const SystemClock clock;
  IoThread thread(0, clock);
  std::promise<void> ran;
  thread.start();
  thread.post(fail_in_a_library);
  thread.post([&] { ran.set_value(); });
  EXPECT_EQ(ran.get_future().wait_for(seconds(20)), std::future_status::ready);
}

}  // namespace
}  // namespace o3::api::http
