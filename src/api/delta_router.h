// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "api/http/io_thread.h"
#include "base/ids.h"
#include "engine/request.h"

namespace o3::api {

// Takes the deltas of one request, on its io thread.
class DeltaReceiver {
 public:
  virtual ~DeltaReceiver() = default;
  virtual void on_delta(engine::Delta delta) = 0;
  virtual void on_tick(Nanoseconds now) = 0;
  virtual void on_shutdown() = 0;  // the server ends: cancel
};

// Brings the engine's deltas to the streams of one io thread: one queue entry per step, whatever
// the number of streams. A receiver stays until its Finish has come.
class DeltaRouter final : public engine::DeltaSink,
                          public std::enable_shared_from_this<DeltaRouter> {
 public:
  explicit DeltaRouter(http::IoThread& io) : io_(&io) {}

  // On the engine's thread. The engine may keep the router longer than the server lives.
  void deliver(std::vector<engine::Delta> deltas) noexcept override;

  // On the io thread.
  void add(RequestId id, std::shared_ptr<DeltaReceiver> receiver);
  void remove(RequestId id) { receivers_.erase(id); }
  void tick(Nanoseconds now);
  void shut_down();

  // When the io thread has ended: what is delivered from now on is dropped.
  void close();

 private:
  void dispatch(std::vector<engine::Delta> deltas);

  std::mutex mutex_;    // of io_
  http::IoThread* io_;  // null: closed
  std::unordered_map<RequestId, std::shared_ptr<DeltaReceiver>> receivers_;
};

}  // namespace o3::api
