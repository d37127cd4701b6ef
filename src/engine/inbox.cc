// SPDX-License-Identifier: Apache-2.0
#include "engine/inbox.h"

#include <algorithm>
#include <string>
#include <utility>

namespace o3::engine {

Result<void> Inbox::submit(Submission submission) {
  const RequestId id = submission.request->id;
  {
    const std::lock_guard lock(mutex_);
    if (!closed_.empty()) return unavailable(closed_);
    if (alive_.contains(id)) {
      return Error{Code::kConflict,
                   "request id " + std::to_string(id.value) + " is in use by a request that has " +
                       "not finished",
                   {}};
    }
    if (scheduled_waiting_ + std::ssize(submissions_) >= max_waiting_) {
      return Error{Code::kExhausted,
                   std::to_string(max_waiting_) + " requests are waiting, which is the most; " +
                       "retry later",
                   {}};
    }
    alive_.emplace(id, false);
    submissions_.push_back(std::move(submission));
  }
  wake_.notify_one();
  return {};
}

void Inbox::cancel(RequestId id) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = alive_.find(id);
    if (found == alive_.end() || found->second) return;
    found->second = true;  // so that the list of cancels is bounded by the requests
    cancels_.push_back(id);
  }
  wake_.notify_one();
}

bool Inbox::open() const noexcept {
  const std::lock_guard lock(mutex_);
  return closed_.empty();
}

void Inbox::close(std::string why) {
  const std::lock_guard lock(mutex_);
  if (closed_.empty()) closed_ = std::move(why);
}

void Inbox::cancel_all() {
  {
    const std::lock_guard lock(mutex_);
    cancel_all_ = true;
  }
  wake_.notify_one();
}

void Inbox::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
}

bool Inbox::wait_until_settled(Nanoseconds timeout) {
  // Far beyond any drain, and far from overflowing the clock that wait_for adds it to.
  constexpr Nanoseconds kLongest = std::chrono::hours(24 * 365);
  std::unique_lock lock(mutex_);
  return settled_.wait_for(lock, std::min(timeout, kLongest), [this] { return alive_.empty(); });
}

void Inbox::wait_until_settled() {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this] { return alive_.empty(); });
}

bool Inbox::pending() const noexcept {
  return !submissions_.empty() || !cancels_.empty() || cancel_all_ || (stop_ && alive_.empty());
}

void Inbox::take(Commands& commands, bool sleep, int32_t waiting) {
  commands.submissions.clear();
  commands.cancels.clear();
  std::unique_lock lock(mutex_);
  if (sleep) wake_.wait(lock, [this] { return pending(); });
  commands.submissions.swap(submissions_);
  commands.cancels.swap(cancels_);
  commands.cancel_all = std::exchange(cancel_all_, false);
  commands.stop = stop_ && alive_.empty();
  scheduled_waiting_ = waiting + static_cast<int32_t>(commands.submissions.size());
}

void Inbox::settle(std::span<const RequestId> finished) {
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    for (const RequestId id : finished) alive_.erase(id);
    all = alive_.empty();
  }
  if (all) settled_.notify_all();
}

}  // namespace o3::engine
