// SPDX-License-Identifier: Apache-2.0
// Work that is enqueued many times as one, and marks in the stream. One thread each.
#pragma once

#include <functional>
#include <utility>

#include "device/cuda/cuda_backend.h"

namespace o3::device::cuda {

// What `enqueue` puts on the backend's stream, recorded instead of run. The backend must outlive
// it.
class Graph {
 public:
  static Result<Graph> capture(CudaBackend& backend, const std::function<Result<void>()>& enqueue);
  Graph(Graph&& other) noexcept
      : backend_(other.backend_), executable_(std::exchange(other.executable_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(executable_, other.executable_);
    return *this;
  }
  ~Graph();

  Result<void> launch() const;  // enqueues

 private:
  Graph(CudaBackend& backend, void* executable) : backend_(&backend), executable_(executable) {}
  CudaBackend* backend_;
  void* executable_;  // cudaGraphExec_t
};

class Event {
 public:
  static Result<Event> create(CudaBackend& backend);
  Event(Event&& other) noexcept
      : backend_(other.backend_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  Result<void> record();
  Result<void> wait();  // until what was enqueued before the record is done
  // Milliseconds from `start` to this one; both were waited for.
  Result<double> milliseconds_since(const Event& start) const;

 private:
  Event(CudaBackend& backend, void* event) : backend_(&backend), event_(event) {}
  CudaBackend* backend_;
  void* event_;  // cudaEvent_t
};

}  // namespace o3::device::cuda
