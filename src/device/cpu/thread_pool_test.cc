// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace o3::device::cpu {
namespace {

TEST(ThreadPool, EachTaskRunsOnceAndItsWritesAreSeen) {
  for (const int size : {1, 2, 3, 8}) {
    ThreadPool pool(size);
    EXPECT_EQ(pool.size(), size);
    for (int64_t count = 0; count <= 40; ++count) {
      std::vector<int> runs(static_cast<size_t>(count), 0);  // plain: TSan checks the ordering
      for (int round = 1; round <= 10; ++round) {
        pool.run(count, [&](int64_t index, int) { ++runs[static_cast<size_t>(index)]; });
        for (const int n : runs) ASSERT_EQ(n, round);
      }
    }
  }
}

TEST(ThreadPool, WorkersOwnTheirScratch) {
  ThreadPool pool(4);
  std::vector<int> scratch(4, 0);  // TSan: no two tasks with one worker at once
  for (int round = 0; round < 100; ++round) {
    pool.run(16, [&](int64_t, int worker) { ++scratch[static_cast<size_t>(worker)]; });
  }
  EXPECT_EQ(std::accumulate(scratch.begin(), scratch.end(), 0), 1600);
}

TEST(ThreadPool, TasksRunAtTheSameTime) {
  ThreadPool pool(2);
  std::atomic<int> inside{0};
  pool.run(2, [&](int64_t, int) {
    ++inside;
    while (inside.load() < 2) std::this_thread::yield();  // hangs if one thread does both
  });
  EXPECT_EQ(inside.load(), 2);
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

// Jobs of changing sizes back to back: a worker that was interrupted while it looked at one job
// must not take a task of the next under the old job's size. More threads than CPUs, so that they
// are.
TEST(ThreadPool, LateWorkersNeverMixJobsUp) {
  ThreadPool pool(6);
  std::vector<std::atomic<int>> hits(16);
  for (int job = 0; job < 30'000; ++job) {
    const int64_t count = 2 + job % 14;
    pool.run(count, [&](int64_t index, int) { hits[static_cast<size_t>(index)]++; });
    for (int64_t i = 0; i < 16; ++i) {
      ASSERT_EQ(hits[static_cast<size_t>(i)].exchange(0), i < count ? 1 : 0) << "job " << job;
    }
  }
}

TEST(ThreadPool, WakesWorkersThatWentToSleep) {
  ThreadPool pool(2);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than the spin
    std::atomic<int> inside{0};
    pool.run(2, [&](int64_t, int) {
      ++inside;
      while (inside.load() < 2) std::this_thread::yield();
    });
  }
}

TEST(ThreadPool, WaitsForASlowWorker) {
  ThreadPool pool(2);
  std::vector<int> done(2, 0);
  std::atomic<int> inside{0};
  pool.run(2, [&](int64_t index, int worker) {
    ++inside;
    while (inside.load() < 2) std::this_thread::yield();
    if (worker == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    done[static_cast<size_t>(index)] = 1;
  });
  EXPECT_EQ(done[0] + done[1], 2);
}

// The last job and the order to stop can reach a spinning worker in one look, and then it must not
// wait for another. Jobs without work, back to back, make that look likely.
TEST(ThreadPool, EndsRightBehindItsLastJob) {
  for (int i = 0; i < 1000; ++i) {
    ThreadPool pool(2);
    for (int job = 0; job < 3000; ++job) pool.run(2, [](int64_t, int) {});
  }
}

TEST(ThreadPool, DefaultSizeIsWhatTheProcessMayUse) {
  EXPECT_GE(ThreadPool::available_cpus(), 1);
  EXPECT_EQ(ThreadPool(0).size(), ThreadPool::available_cpus());
}

// A model is loaded while the engine runs another: each caller's tasks run once, and its call ends.
TEST(ThreadPool, CallersMayComeAtTheSameTime) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&pool] {
      for (int round = 0; round < 2000; ++round) {
        std::array<std::atomic<int>, 7> ran{};
        std::array<std::atomic<bool>, 2> busy{};
        pool.run(std::ssize(ran), [&](int64_t index, int worker) {
          auto& mine = busy.at(static_cast<size_t>(worker));
          ASSERT_FALSE(mine.exchange(true)) << "two tasks of one call with one worker";
          ++ran.at(static_cast<size_t>(index));
          mine = false;
        });
        for (const auto& count : ran) ASSERT_EQ(count, 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace o3::device::cpu
