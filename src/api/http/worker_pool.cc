// SPDX-License-Identifier: Apache-2.0
#include "api/http/worker_pool.h"

#include <exception>

#include "base/log.h"

namespace o3::api::http {

WorkerPool::WorkerPool(size_t threads, size_t most_waiting) : most_waiting_(most_waiting) {
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  stop();
}

bool WorkerPool::run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || waiting_.size() >= most_waiting_) return false;
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::stop() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);  // their destructors may call back: not under the lock
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkerPool::work() {
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      job();
    } catch (const std::exception& error) {
      // A library's exception (out of memory, say) ends one job; its Exchange then answers 500.
      log::error("worker: {}", error.what());
    }
  }
}

}  // namespace o3::api::http
