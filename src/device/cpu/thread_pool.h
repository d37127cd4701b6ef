// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace o3::device::cpu {

// Fixed set of worker threads for kernels. The caller is worker 0; parallel() returns when all are
// done. Workers spin shortly, then sleep. One caller at a time (the executor).
class ThreadPool {
 public:
  // threads <= 0: as many as this process may use (affinity mask and cgroup CPU quota).
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept;

  // Runs work(worker) for worker = 0 .. size()-1 at once.
  void parallel(const std::function<void(int worker)>& work);

  // Splits [0, count) into contiguous ranges, one per worker, sizes a multiple of `grain` where
  // possible; work(begin, end).
  void parallel_for(int64_t count, int64_t grain,
                    const std::function<void(int64_t begin, int64_t end)>& work);

  static int available_cpus();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace o3::device::cpu
