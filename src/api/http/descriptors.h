// SPDX-License-Identifier: Apache-2.0
// File descriptors: how many connections the process may hold, and what is done when they run out.
#pragma once

#include <cstddef>
#include <utility>

#include "base/result.h"

namespace o3::api::http {

// How many of `wanted` connections fit beside the descriptors that the rest of the process needs,
// when it may have `limit` in all. kUnavailable: too few to serve with; says how to get more.
Result<size_t> connections_within(size_t limit, size_t wanted, size_t io_threads);

// Raises the process's soft limit of open files as far as `wanted` connections need and the hard
// one allows, then the same. Logs when fewer fit.
Result<size_t> make_room_for_connections(size_t wanted, size_t io_threads);

// A descriptor held in reserve: given up for a moment, it lets a server that has none left accept a
// client to tell it so.
class SpareDescriptor {
 public:
  SpareDescriptor() { take(); }
  ~SpareDescriptor() { give_up(); }
  SpareDescriptor(const SpareDescriptor&) = delete;
  SpareDescriptor& operator=(const SpareDescriptor&) = delete;

  void take();  // may fail; then it is tried again at the next call
  void give_up();

 private:
  int descriptor_ = -1;
};

}  // namespace o3::api::http
