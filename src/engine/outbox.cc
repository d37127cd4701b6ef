// SPDX-License-Identifier: Apache-2.0
#include "engine/outbox.h"

#include <utility>

namespace o3::engine {

void Outbox::add(const std::shared_ptr<DeltaSink>& sink, Delta delta) {
  const auto [entry, fresh] = index_.try_emplace(sink.get(), parcels_.size());
  if (fresh) parcels_.push_back({.sink = sink, .deltas = {}});
  parcels_[entry->second].deltas.push_back(std::move(delta));
}

void Outbox::deliver() noexcept {
  for (Parcel& parcel : parcels_) parcel.sink->deliver(std::move(parcel.deltas));
  parcels_.clear();
  index_.clear();
}

}  // namespace o3::engine
