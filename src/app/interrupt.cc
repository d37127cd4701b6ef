// SPDX-License-Identifier: Apache-2.0
#include "app/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "app/exit_code.h"

namespace o3::app {
namespace {

sigset_t termination_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);  // the terminal is gone
  return set;
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = termination_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::thread([this] { wait(); });
}

Interrupt::~Interrupt() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  // To that thread only; it is blocked there and ends the wait.
  pthread_kill(waiter_.native_handle(), SIGINT);
  waiter_.join();
}

void Interrupt::set(std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  action_ = std::move(action);
}

void Interrupt::wait() {
  const sigset_t set = termination_signals();
  bool seen = false;
  while (true) {
    int signal = 0;
    sigwait(&set, &signal);
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (seen || !action_) _exit(static_cast<int>(ExitCode::kInterrupted));
    seen = true;
    action_();
  }
}

}  // namespace o3::app
