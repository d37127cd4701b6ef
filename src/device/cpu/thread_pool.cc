// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "base/check.h"
#include "device/cpu/cgroup.h"

namespace o3::device::cpu {
namespace {

// Within a decode step the gap between two ops is a few microseconds, between two steps (sampling,
// planning) some hundred: longer than that means idle, and the core belongs to others.
constexpr std::chrono::microseconds kSpin{300};
constexpr int kPausesPerClockRead = 16;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// True as soon as `done()` holds; false after kSpin, or at once when spinning is off.
template <class Done>
bool spin_until(bool enabled, const Done& done) {
  if (done()) return true;
  if (!enabled) return false;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kPausesPerClockRead; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

int affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);  // > 1024 CPUs
}

}  // namespace

// `epoch` counts parallel() calls: a worker runs `work` once per new value. The store to epoch
// publishes `work`; the decrement of `pending` publishes what the worker wrote.
struct ThreadPool::State {
  int size = 1;
  bool spin = true;
  const std::function<void(int)>* work = nullptr;
  alignas(64) std::atomic<uint32_t> epoch{0};
  alignas(64) std::atomic<int32_t> pending{0};
  alignas(64) std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;

  void publish() {
    epoch.fetch_add(1, std::memory_order_release);
    epoch.notify_all();
  }

  void worker(int index) {
    uint32_t seen = 0;
    while (true) {
      const auto changed = [&] { return epoch.load(std::memory_order_acquire) != seen; };
      while (!spin_until(spin, changed)) epoch.wait(seen, std::memory_order_acquire);
      ++seen;  // publish() is never called twice before all workers answered
      if (stopping.load(std::memory_order_relaxed)) return;
      (*work)(index);
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
    }
  }

  void wait_for_workers() {
    const auto done = [&] { return pending.load(std::memory_order_acquire) == 0; };
    while (!spin_until(spin, done)) {
      const int32_t left = pending.load(std::memory_order_acquire);
      if (left != 0) pending.wait(left, std::memory_order_acquire);
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  const int cpus = available_cpus();
  state_->size = threads > 0 ? threads : cpus;
  // With more threads than CPUs a spinning thread takes time from the one it waits for. Threads
  // are left to the scheduler rather than pinned: the caller's thread is not ours to pin, and a
  // pinned worker waits behind whatever else runs on its CPU while another CPU is idle.
  state_->spin = state_->size <= cpus;
  for (int i = 1; i < state_->size; ++i) {
    state_->workers.emplace_back([state = state_.get(), i] { state->worker(i); });
  }
}

ThreadPool::~ThreadPool() {
  state_->stopping.store(true, std::memory_order_relaxed);
  state_->publish();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::size() const noexcept {
  return state_->size;
}

void ThreadPool::parallel(const std::function<void(int worker)>& work) {
  if (state_->size > 1) {
    O3_DCHECK(state_->pending.load() == 0, "parallel() is not reentrant");
    state_->work = &work;
    state_->pending.store(state_->size - 1, std::memory_order_relaxed);
    state_->publish();
  }
  work(0);
  state_->wait_for_workers();
}

void ThreadPool::parallel_for(int64_t count, int64_t grain,
                              const std::function<void(int64_t begin, int64_t end)>& work) {
  O3_DCHECK(grain > 0, "grain counts elements");
  if (count <= 0) return;
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t parts = std::min<int64_t>(state_->size, grains);
  if (parts == 1) {
    work(0, count);
    return;
  }
  parallel([&](int worker) {
    if (worker >= parts) return;
    const int64_t begin = grains * worker / parts * grain;
    const int64_t end = std::min(grains * (worker + 1) / parts * grain, count);
    work(begin, end);
  });
}

int ThreadPool::available_cpus() {
  int cpus = affinity_cpus();
  if (const std::optional<double> quota = cgroup_cpu_quota("/")) {
    cpus = std::min(cpus, std::max(static_cast<int>(std::ceil(*quota)), 1));
  }
  return cpus;
}

}  // namespace o3::device::cpu
