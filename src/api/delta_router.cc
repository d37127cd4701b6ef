// SPDX-License-Identifier: Apache-2.0
#include "api/delta_router.h"

namespace o3::api {

void DeltaRouter::deliver(std::vector<engine::Delta> deltas) noexcept {
  auto held = std::make_shared<std::vector<engine::Delta>>(std::move(deltas));
  const std::lock_guard lock(mutex_);
  if (io_ == nullptr) return;
  io_->post([self = shared_from_this(), held] { self->dispatch(std::move(*held)); });
}

void DeltaRouter::close() {
  {
    const std::lock_guard lock(mutex_);
    io_ = nullptr;
  }
  receivers_.clear();
}

void DeltaRouter::add(RequestId id, std::shared_ptr<DeltaReceiver> receiver) {
  receivers_.emplace(id, std::move(receiver));
}

void DeltaRouter::dispatch(std::vector<engine::Delta> deltas) {
  for (engine::Delta& delta : deltas) {
    const auto found = receivers_.find(delta.id);
    if (found == receivers_.end()) continue;
    const std::shared_ptr<DeltaReceiver> receiver = found->second;  // outlives its own removal
    if (delta.finish) receivers_.erase(found);
    receiver->on_delta(std::move(delta));
  }
}

void DeltaRouter::tick(Nanoseconds now) {
  std::vector<std::shared_ptr<DeltaReceiver>> all;
  all.reserve(receivers_.size());
  for (const auto& [id, receiver] : receivers_) all.push_back(receiver);
  for (const auto& receiver : all) receiver->on_tick(now);
}

void DeltaRouter::shut_down() {
  std::vector<std::shared_ptr<DeltaReceiver>> all;
  all.reserve(receivers_.size());
  for (const auto& [id, receiver] : receivers_) all.push_back(receiver);
  for (const auto& receiver : all) receiver->on_shutdown();
}

}  // namespace o3::api
