// SPDX-License-Identifier: Apache-2.0
#include "engine/inbox.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace o3::engine {
namespace {

// Far beyond any drain, and far from overflowing the clock that wait_for adds it to.
constexpr Nanoseconds kLongest = std::chrono::hours(24 * 365);

}  // namespace

Error no_instance(InstanceId id) {
  return {Code::kNotFound, "there is no model instance " + std::to_string(id.value), {}};
}

Result<void> Inbox::submit(Submission submission) {
  const RequestId id = submission.request->id;
  {
    const std::lock_guard lock(mutex_);
    if (!closed_.empty()) return unavailable(closed_);
    const InstanceId instance = submission.request->instance;
    if (!open_.contains(instance)) return no_instance(instance);
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
    alive_.emplace(id, Alive{.instance = instance});
    submissions_.push_back(std::move(submission));
  }
  wake_.notify_one();
  return {};
}

void Inbox::cancel(RequestId id) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = alive_.find(id);
    if (found == alive_.end() || std::exchange(found->second.cancelled, true)) return;
    // Once for each, so that the list of cancels is bounded by the requests
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
  std::unique_lock lock(mutex_);
  return settled_.wait_for(lock, std::min(timeout, kLongest), [this] { return alive_.empty(); });
}

void Inbox::wait_until_settled() {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this] { return alive_.empty(); });
}

void Inbox::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Inbox::open_instance(InstanceId id) {
  const std::lock_guard lock(mutex_);
  open_.insert(id);
}

bool Inbox::close_instance(InstanceId id) {
  const std::lock_guard lock(mutex_);
  return open_.erase(id) == 1;
}

void Inbox::cancel_instance(InstanceId id) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [request, alive] : alive_) {
      if (alive.instance != id || std::exchange(alive.cancelled, true)) continue;
      cancels_.push_back(request);
    }
  }
  wake_.notify_one();
}

bool Inbox::none_alive(InstanceId id) const {
  return std::ranges::none_of(alive_, [id](const auto& e) { return e.second.instance == id; });
}

bool Inbox::wait_until_settled(InstanceId id, Nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  return settled_.wait_for(lock, std::min(timeout, kLongest), [&] { return none_alive(id); });
}

bool Inbox::pending() const noexcept {
  return !tasks_.empty() || !submissions_.empty() || !cancels_.empty() || cancel_all_ ||
         (stop_ && alive_.empty());
}

void Inbox::take(Commands& commands, bool sleep, int32_t waiting) {
  commands.submissions.clear();
  commands.cancels.clear();
  std::unique_lock lock(mutex_);
  if (sleep) wake_.wait(lock, [this] { return pending(); });
  std::ranges::move(tasks_, std::back_inserter(commands.tasks));
  tasks_.clear();
  commands.submissions.swap(submissions_);
  commands.cancels.swap(cancels_);
  commands.cancel_all = std::exchange(cancel_all_, false);
  commands.stop = stop_ && alive_.empty();
  scheduled_waiting_ = waiting + static_cast<int32_t>(commands.submissions.size());
}

void Inbox::settle(std::span<const RequestId> finished) {
  if (finished.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (const RequestId id : finished) alive_.erase(id);
  }
  settled_.notify_all();
}

}  // namespace o3::engine
