// SPDX-License-Identifier: Apache-2.0
#include "app/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include "app/exit_code.h"

namespace o3::app {
namespace {

sigset_t termination_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

void block_termination_signals() {
  const sigset_t set = termination_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int wait_for_termination() {
  const sigset_t set = termination_signals();
  int signal = 0;
  sigwait(&set, &signal);
  return signal;
}

InterruptGuard::InterruptGuard(std::function<void()> on_signal) {
  waiter_ = std::thread([this, action = std::move(on_signal)] {
    bool seen = false;
    while (true) {
      wait_for_termination();
      if (stopping_.load()) return;
      if (seen) _exit(static_cast<int>(ExitCode::kInterrupted));
      seen = true;
      action();
    }
  });
}

InterruptGuard::~InterruptGuard() {
  stopping_.store(true);
  // To that thread only; it is blocked there and ends the wait.
  pthread_kill(waiter_.native_handle(), SIGINT);
  waiter_.join();
}

}  // namespace o3::app
