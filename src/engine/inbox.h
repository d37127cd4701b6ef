// SPDX-License-Identifier: Apache-2.0
// Where other threads meet the engine thread: what they ask for, and which requests are alive.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/request.h"

namespace o3::engine {

struct Submission {
  std::shared_ptr<const Request> request;
  std::shared_ptr<DeltaSink> sink;
};

// In the order to be obeyed: submissions, then cancels (which name only submitted requests).
// Tasks are for the time between two steps, when no instance is in use.
struct Commands {
  std::vector<std::function<void()>> tasks;  // take() adds to them
  std::vector<Submission> submissions;
  std::vector<RequestId> cancels;
  bool cancel_all = false;
  bool stop = false;  // nothing is alive and nothing will come: the thread may end
};

// What submit() says of an instance that is not there, or no longer.
Error no_instance(InstanceId id);

class Inbox {
 public:
  explicit Inbox(int32_t max_waiting) : max_waiting_(max_waiting) {}

  // ---- any thread ----
  // From ok on the request is alive, until settle() names it. kNotFound: its instance is not open;
  // kConflict, kExhausted, kUnavailable.
  Result<void> submit(Submission submission);
  void cancel(RequestId id) noexcept;  // ignored unless alive
  bool open() const noexcept;          // submit() may succeed
  void close(std::string why);         // from now on submit() is refused; the first reason stays
  void cancel_all();                   // with close(): everything alive ends soon
  void stop();                         // with close(): the thread ends when nothing is alive
  // True when nothing is alive, false at the timeout (real time).
  bool wait_until_settled(Nanoseconds timeout);
  void wait_until_settled();

  void post(std::function<void()> task);  // to the engine thread
  void open_instance(InstanceId id);      // submit() takes its requests from now on
  bool close_instance(InstanceId id);     // and no longer; false when it was not open
  void cancel_instance(InstanceId id);    // all its requests that are alive
  // As above, for one instance's requests.
  bool wait_until_settled(InstanceId id, Nanoseconds timeout);

  // ---- engine thread ----
  // Takes what has come; with `sleep` waits until something has. `waiting` requests are queued in
  // the schedulers now, beside what this call takes: both count against max_waiting.
  void take(Commands& commands, bool sleep, int32_t waiting);
  // These requests have had their Finish.
  void settle(std::span<const RequestId> finished);

 private:
  struct Alive {
    InstanceId instance;
    bool cancelled = false;  // the cancel was passed on
  };
  bool pending() const noexcept;
  bool none_alive(InstanceId id) const;

  const int32_t max_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;     // for the engine thread
  std::condition_variable settled_;  // for wait_until_settled
  std::vector<Submission> submissions_;
  std::vector<RequestId> cancels_;
  std::vector<std::function<void()>> tasks_;
  std::unordered_map<RequestId, Alive> alive_;
  std::set<InstanceId> open_;
  int32_t scheduled_waiting_ = 0;
  std::string closed_;  // why submit() refuses; empty while open
  bool cancel_all_ = false;
  bool stop_ = false;
};

}  // namespace o3::engine
