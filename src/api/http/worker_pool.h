// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace o3::api::http {

// Threads for what takes longer than moving bytes: JSON, templates, tokenising.
class WorkerPool {
 public:
  WorkerPool(size_t threads, size_t most_waiting);
  ~WorkerPool();  // see stop()
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False: too many jobs wait, or the pool has stopped; the job was not taken. Any thread.
  bool run(std::function<void()> job);

  // Ends the running jobs, drops the waiting ones, joins.
  void stop();

 private:
  void work();

  const size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace o3::api::http
