// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace o3::device::cpu {

// Fixed set of worker threads for kernels; the caller is worker 0. Threads take tasks one by one,
// and a call returns when all tasks are done: a worker that the system does not schedule in time
// holds nothing up, unless it has begun a task. Workers spin shortly, then sleep. They serve one
// caller at a time: whoever calls meanwhile (a model that is loaded while the engine runs another)
// does its tasks alone, on its own thread.
class ThreadPool {
 public:
  // threads <= 0: as many as this process may use (affinity mask and cgroup CPU quota).
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept;

  // Runs task(index, worker) once for every index in [0, count), lower indices first. No two tasks
  // of one call run at once with the same worker in [0, size()), so it can name scratch memory of
  // the caller. count must be below 2^31. Any thread.
  void run(int64_t count, const std::function<void(int64_t index, int worker)>& task);

  // Splits [0, count) into contiguous ranges, a few per worker, their bounds multiples of `grain`;
  // work(begin, end).
  void parallel_for(int64_t count, int64_t grain,
                    const std::function<void(int64_t begin, int64_t end)>& work);

  static int available_cpus();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace o3::device::cpu
