// SPDX-License-Identifier: Apache-2.0
// What one client may take. docs/http.md explains each and what happens beyond it.
#pragma once

#include <chrono>
#include <cstddef>

namespace o3::api::http {

struct Limits {
  size_t max_connections = 8192;           // beyond: 503 and closed
  size_t header_bytes = 16 << 10;          // request line and fields; beyond: 431
  size_t body_bytes = 4 << 20;             // of one request; beyond: 413
  size_t body_bytes_total = 256 << 20;     // of all requests that are being read or parsed
  size_t stream_buffer_bytes = 256 << 10;  // unsent bytes of one stream; beyond: cut off
  size_t worker_queue = 4096;              // requests waiting for a worker; beyond: 503
  std::chrono::milliseconds header_timeout{10'000};  // first byte of a head to its end
  std::chrono::milliseconds body_timeout{30'000};    // for the whole body
  std::chrono::milliseconds write_timeout{30'000};   // without the client taking a byte
  std::chrono::milliseconds idle_timeout{120'000};   // between requests of one connection
};

}  // namespace o3::api::http
