// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace o3::device::cpu {
namespace {

TEST(ThreadPool, EachWorkerRunsOnceAndItsWritesAreSeen) {
  for (const int size : {1, 2, 3, 8}) {
    ThreadPool pool(size);
    EXPECT_EQ(pool.size(), size);
    std::vector<int> runs(static_cast<size_t>(size), 0);  // plain ints: TSan checks the ordering
    for (int round = 1; round <= 200; ++round) {
      pool.parallel([&](int worker) { ++runs[static_cast<size_t>(worker)]; });
      for (const int count : runs) ASSERT_EQ(count, round);
    }
  }
}

TEST(ThreadPool, CallerIsWorkerZero) {
  ThreadPool pool(2);
  std::vector<std::thread::id> ids(2);
  pool.parallel([&](int worker) { ids[static_cast<size_t>(worker)] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], ids[0]);
}

TEST(ThreadPool, RangesCoverEverythingOnceAndKeepTheGrain) {
  ThreadPool pool(3);
  for (const int64_t grain : {1, 7, 16}) {
    for (int64_t count = 0; count <= 100; ++count) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        EXPECT_EQ(begin % grain, 0);
        for (int64_t i = begin; i < end; ++i) hits[static_cast<size_t>(i)]++;
      });
      for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1);
    }
  }
}

TEST(ThreadPool, WakesWorkersThatWentToSleep) {
  ThreadPool pool(2);
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than the spin
    pool.parallel([&](int worker) {
      if (worker == 1) ++sum;
    });
  }
  EXPECT_EQ(sum, 3);
}

TEST(ThreadPool, WaitsForASlowWorker) {
  ThreadPool pool(2);
  bool done = false;
  pool.parallel([&](int worker) {
    if (worker != 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    done = true;
  });
  EXPECT_TRUE(done);
}

TEST(ThreadPool, DefaultSizeIsWhatTheProcessMayUse) {
  EXPECT_GE(ThreadPool::available_cpus(), 1);
  EXPECT_EQ(ThreadPool(0).size(), ThreadPool::available_cpus());
}

}  // namespace
}  // namespace o3::device::cpu
