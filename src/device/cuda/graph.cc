// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph.h"

#include <cuda_runtime_api.h>

namespace o3::device::cuda {
namespace {

cudaStream_t stream_of(const CudaBackend& backend) {
  return static_cast<cudaStream_t>(backend.stream().handle);
}

}  // namespace

Result<Graph> Graph::capture(CudaBackend& backend, const std::function<Result<void>()>& enqueue) {
  const cudaStream_t stream = stream_of(backend);
  O3_TRY(backend.check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                       "a graph cannot be captured"));
  const Result<void> enqueued = enqueue();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (!enqueued.ok()) {
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    return enqueued.error();
  }
  O3_TRY(backend.check(ended, "a graph was not captured"));
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&executable, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  O3_TRY(backend.check(made, "a graph cannot be made"));
  return Graph(backend, executable);
}

Graph::~Graph() {
  if (executable_ != nullptr) {
    static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_)));
  }
}

Result<void> Graph::launch() const {
  return backend_->check(
      cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_), stream_of(*backend_)),
      "a graph cannot be launched");
}

Result<Event> Event::create(CudaBackend& backend) {
  cudaEvent_t event = nullptr;
  O3_TRY(backend.check(cudaEventCreate(&event), "an event"));
  return Event(backend, event);
}

Event::~Event() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(event_)));
}

Result<void> Event::record() {
  return backend_->check(cudaEventRecord(static_cast<cudaEvent_t>(event_), stream_of(*backend_)),
                         "an event cannot be recorded");
}

Result<void> Event::wait() {
  return backend_->check(cudaEventSynchronize(static_cast<cudaEvent_t>(event_)), "the GPU failed");
}

Result<double> Event::milliseconds_since(const Event& start) const {
  float elapsed = 0.0F;
  O3_TRY(backend_->check(cudaEventElapsedTime(&elapsed, static_cast<cudaEvent_t>(start.event_),
                                              static_cast<cudaEvent_t>(event_)),
                         "an event's time"));
  return double{elapsed};
}

}  // namespace o3::device::cuda
