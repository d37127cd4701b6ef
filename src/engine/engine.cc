// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/model_instance.h"

namespace o3::engine {

struct Engine::State {
  State(device::Backend& its_backend, EngineMetrics& its_metrics, int32_t max_waiting)
      : backend(its_backend), metrics(its_metrics), inbox(max_waiting) {}

  ModelInstance* find(InstanceId id) {
    return id.value < instances.size() ? instances[id.value].get() : nullptr;
  }

  void loop();
  void take(bool sleep);
  void publish();

  device::Backend& backend;
  EngineMetrics& metrics;
  Inbox inbox;
  // By InstanceId. Fixed once the thread runs; what is inside belongs to the engine thread.
  std::vector<std::unique_ptr<ModelInstance>> instances;

  // ---- engine thread ----
  Commands commands;
  Outbox outbox;
  std::vector<RequestId> finished;
  InstanceStats counted;  // what the counters of metrics already hold

  std::thread thread;
};

void Engine::State::take(bool sleep) {
  int32_t waiting = 0;
  for (const auto& instance : instances) waiting += instance->scheduler().waiting();
  inbox.take(commands, sleep, waiting);
  for (Submission& submission : commands.submissions) {
    ModelInstance* instance = find(submission.request->instance);
    instance->submit(std::move(submission));
  }
  for (const auto& instance : instances) {
    for (const RequestId id : commands.cancels) instance->cancel(id);
    if (commands.cancel_all) instance->cancel_all();
  }
  publish();
}

void Engine::State::publish() {
  InstanceStats sum;
  for (const auto& instance : instances) {
    const InstanceStats one = instance->stats();
    sum.running += one.running;
    sum.waiting += one.waiting;
    sum.blocks_used += one.blocks_used;
    sum.blocks_cached += one.blocks_cached;
    sum.blocks_total += one.blocks_total;
    sum.kv_time += one.kv_time;
    sum.prompt_tokens += one.prompt_tokens;
    sum.cached_tokens += one.cached_tokens;
    sum.output_tokens += one.output_tokens;
    sum.preemptions += one.preemptions;
  }
  metrics.requests_running.Set(sum.running);
  metrics.requests_waiting.Set(sum.waiting);
  metrics.kv_blocks_used.Set(static_cast<double>(sum.blocks_used));
  metrics.kv_blocks_cached.Set(static_cast<double>(sum.blocks_cached));
  metrics.kv_blocks_total.Set(static_cast<double>(sum.blocks_total));
  metrics.kv_fragmentation.Set(sum.kv_time.fragmentation());
  const auto count = [](prometheus::Counter& counter, int64_t& before, int64_t now) {
    counter.Increment(static_cast<double>(now - std::exchange(before, now)));
  };
  count(metrics.prompt_tokens, counted.prompt_tokens, sum.prompt_tokens);
  count(metrics.cached_tokens, counted.cached_tokens, sum.cached_tokens);
  count(metrics.output_tokens, counted.output_tokens, sum.output_tokens);
  count(metrics.preemptions, counted.preemptions, sum.preemptions);
}

void Engine::State::loop() {
  const auto idle = [](const auto& instance) { return instance->idle(); };
  for (;;) {
    take(std::all_of(instances.begin(), instances.end(), idle));
    if (commands.stop) return;
    for (const auto& instance : instances) {
      instance->step([this] { take(false); }, outbox, finished);
      // Closed before anybody is told, so that who sees the failure also sees ready() false.
      if (instance->failure()) inbox.close(instance->failure()->message);
    }
    publish();  // before delivery, so that a finished request's pages show as free
    outbox.deliver();
    inbox.settle(finished);
    finished.clear();
  }
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options,
                                               device::Backend& backend,
                                               std::shared_ptr<const model::Model> model,
                                               const Clock& clock, EngineMetrics& metrics) {
  O3_ASSIGN(std::unique_ptr<ModelInstance> instance,
            ModelInstance::create(options, backend, std::move(model), clock));
  auto state = std::make_unique<State>(backend, metrics, options.max_waiting);
  state->instances.push_back(std::move(instance));
  state->publish();
  state->thread = std::thread([loop_state = state.get()] { loop_state->loop(); });
  std::unique_ptr<Engine> engine(new Engine(std::move(state)));
  return engine;
}

Engine::~Engine() {
  state_->inbox.close("the server is shutting down");
  state_->inbox.cancel_all();
  state_->inbox.stop();
  state_->thread.join();
}

Result<void> Engine::submit(std::shared_ptr<const Request> request,
                            std::shared_ptr<DeltaSink> sink) {
  const ModelInstance* instance = state_->find(request->instance);
  if (instance == nullptr) {
    return Error{Code::kNotFound,
                 "there is no model instance " + std::to_string(request->instance.value),
                 {}};
  }
  O3_TRY(check_request(*request, instance->limits()));
  return state_->inbox.submit({.request = std::move(request), .sink = std::move(sink)});
}

void Engine::cancel(RequestId id) noexcept {
  state_->inbox.cancel(id);
}

InstanceInfo Engine::instance(InstanceId id) const {
  const ModelInstance* instance = state_->find(id);
  if (instance == nullptr) return {};
  return {.context = instance->limits().context, .vocabulary = instance->limits().vocabulary};
}

bool Engine::ready() const noexcept {
  return state_->inbox.open() && state_->backend.healthy();
}

void Engine::drain(Nanoseconds timeout) {
  state_->inbox.close("the server is shutting down");
  if (state_->inbox.wait_until_settled(timeout)) return;
  state_->inbox.cancel_all();
  state_->inbox.wait_until_settled();
}

}  // namespace o3::engine
