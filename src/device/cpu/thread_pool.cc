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
// planning) some tens: longer than that means idle, and the core belongs to others.
constexpr std::chrono::microseconds kSpin{100};
constexpr int kPausesPerClockRead = 16;
// More ranges than workers, so that a worker that starts late or is interrupted takes fewer.
constexpr int64_t kRangesPerWorker = 4;

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

namespace {

// A job's size and its next free task in one word, so that both are read, and a task is claimed, at
// one moment: a worker that was interrupted between looking and claiming can only succeed if the
// word is what it saw, and then the claim is good for whatever job that word describes now.
struct Ticket {
  uint32_t total = 0;
  uint32_t next = 0;

  static Ticket unpack(uint64_t word) {
    return {.total = static_cast<uint32_t>(word >> 32U), .next = static_cast<uint32_t>(word)};
  }
  uint64_t pack() const { return (uint64_t{total} << 32U) | next; }
};

}  // namespace

// While a claimed task is not counted in `done`, the caller waits and the job's description
// (`task`) stays valid; no word with a free task exists between two jobs.
struct ThreadPool::State {
  int size = 1;
  bool spin = true;
  const std::function<void(int64_t, int)>* task = nullptr;
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<uint32_t> jobs{0};  // jobs started; sleepers wait for a change
  alignas(64) std::atomic<uint32_t> done{0};
  std::atomic<bool> taken{false};  // a caller has the workers
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;

  void start(uint32_t tasks) {
    done.store(0, std::memory_order_relaxed);
    ticket.store(Ticket{.total = tasks}.pack(), std::memory_order_release);
    jobs.fetch_add(1, std::memory_order_release);
    jobs.notify_all();
  }

  // Takes tasks until none is free.
  void take(int worker) {
    uint64_t word = ticket.load(std::memory_order_acquire);
    while (true) {
      const Ticket seen = Ticket::unpack(word);
      if (seen.next >= seen.total) return;
      if (!ticket.compare_exchange_weak(word, word + 1, std::memory_order_acquire)) continue;
      (*task)(seen.next, worker);
      if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == seen.total) done.notify_one();
      word = ticket.load(std::memory_order_acquire);
    }
  }

  void worker(int index) {
    uint32_t seen = 0;
    while (true) {
      const auto changed = [&] { return jobs.load(std::memory_order_acquire) != seen; };
      while (!spin_until(spin, changed)) jobs.wait(seen, std::memory_order_acquire);
      // The count is read before `stopping`, which was set before the count last changed: a worker
      // that takes note of the last change also sees that it was the last.
      seen = jobs.load(std::memory_order_acquire);
      if (stopping.load(std::memory_order_relaxed)) return;
      take(index);
    }
  }

  void wait_for(uint32_t tasks) {
    const auto finished = [&] { return done.load(std::memory_order_acquire) == tasks; };
    while (!spin_until(spin, finished)) {
      const uint32_t now = done.load(std::memory_order_acquire);
      if (now != tasks) done.wait(now, std::memory_order_acquire);
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
  state_->start(0);
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::size() const noexcept {
  return state_->size;
}

void ThreadPool::run(int64_t count, const std::function<void(int64_t index, int worker)>& task) {
  O3_CHECK(count < int64_t{1} << 31U, "too many tasks");
  const bool alone = state_->size == 1 || count <= 1;
  if (alone || state_->taken.exchange(true, std::memory_order_acquire)) {
    for (int64_t i = 0; i < count; ++i) task(i, 0);
    return;
  }
  const auto tasks = static_cast<uint32_t>(count);
  state_->task = &task;
  state_->start(tasks);
  state_->take(0);
  state_->wait_for(tasks);
  state_->taken.store(false, std::memory_order_release);
}

void ThreadPool::parallel_for(int64_t count, int64_t grain,
                              const std::function<void(int64_t begin, int64_t end)>& work) {
  O3_DCHECK(grain > 0, "grain counts elements");
  if (count <= 0) return;
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t parts = std::min(grains, state_->size == 1 ? 1 : state_->size * kRangesPerWorker);
  run(parts, [&](int64_t part, int) {
    work(grains * part / parts * grain, std::min(grains * (part + 1) / parts * grain, count));
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
