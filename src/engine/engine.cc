// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/model_instance.h"

namespace o3::engine {

struct Engine::State {
  State(const Clock& its_clock, EngineMetrics& its_metrics, int32_t max_waiting)
      : clock(its_clock), metrics(its_metrics), inbox(max_waiting) {}

  // What other threads need to know of an instance.
  struct Listed {
    RequestLimits limits;
    device::Backend* backend = nullptr;
  };

  std::optional<Listed> find(InstanceId id) const {
    const std::lock_guard lock(mutex);
    const auto found = listed.find(id);
    return found == listed.end() ? std::nullopt : std::optional(found->second);
  }

  // Runs on the engine thread, between two steps; returns when it has run.
  void run_between_steps(const std::function<void()>& task) {
    std::promise<void> done;
    inbox.post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  void loop();
  void take(bool sleep);
  void publish();

  const Clock& clock;
  EngineMetrics& metrics;
  Inbox inbox;

  mutable std::mutex mutex;  // of the two below
  std::map<InstanceId, Listed> listed;
  uint32_t next_id = 0;

  // ---- engine thread ----
  std::map<InstanceId, std::unique_ptr<ModelInstance>> instances;
  Commands commands;
  Outbox outbox;
  std::vector<RequestId> finished;
  InstanceStats counted;  // what the counters of metrics already hold
  InstanceStats gone;     // of instances that were unloaded

  std::thread thread;
};

void Engine::State::take(bool sleep) {
  int32_t waiting = 0;
  for (const auto& [id, instance] : instances) waiting += instance->scheduler().waiting();
  inbox.take(commands, sleep, waiting);
  for (Submission& submission : commands.submissions) {
    const InstanceId id = submission.request->instance;
    instances.at(id)->submit(std::move(submission));
  }
  for (const auto& [instance_id, instance] : instances) {
    for (const RequestId id : commands.cancels) instance->cancel(id);
    if (commands.cancel_all) instance->cancel_all();
  }
  publish();
}

void Engine::State::publish() {
  InstanceStats sum = gone;
  for (const auto& [id, instance] : instances) sum += instance->stats();
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
  const auto idle = [](const auto& entry) { return entry.second->idle(); };
  for (;;) {
    take(commands.tasks.empty() && std::all_of(instances.begin(), instances.end(), idle));
    for (const auto& task : std::exchange(commands.tasks, {})) task();
    if (commands.stop) return;
    for (const auto& [id, instance] : instances) {
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

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions& options, const Clock& clock,
                                               EngineMetrics& metrics) {
  if (options.max_waiting < 1) return invalid("max_waiting must be 1 or more", "max_waiting");
  auto state = std::make_unique<State>(clock, metrics, options.max_waiting);
  state->publish();
  state->thread = std::thread([loop_state = state.get()] { loop_state->loop(); });
  return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

Engine::~Engine() {
  state_->inbox.close("the server is shutting down");
  state_->inbox.cancel_all();
  state_->inbox.stop();
  state_->thread.join();
}

Result<InstanceId> Engine::load(const InstanceOptions& options, device::Backend& backend,
                                std::shared_ptr<const model::Model> model) {
  O3_ASSIGN(std::unique_ptr<ModelInstance> made,
            ModelInstance::create(options, backend, std::move(model), state_->clock));
  InstanceId id;
  {
    const std::lock_guard lock(state_->mutex);
    id.value = state_->next_id++;
    state_->listed[id] = {.limits = made->limits(), .backend = &backend};
  }
  state_->run_between_steps([&] {
    state_->instances.emplace(id, std::move(made));
    state_->publish();
  });
  state_->inbox.open_instance(id);
  return id;
}

Result<void> Engine::unload(InstanceId id, Nanoseconds timeout) {
  if (!state_->inbox.close_instance(id)) return no_instance(id);
  {
    const std::lock_guard lock(state_->mutex);
    state_->listed.erase(id);
  }
  if (!state_->inbox.wait_until_settled(id, timeout)) {
    state_->inbox.cancel_instance(id);
    state_->inbox.wait_until_settled(id, Nanoseconds::max());
  }
  std::unique_ptr<ModelInstance> instance;  // its memory is freed on this thread
  state_->run_between_steps([&] {
    const auto node = state_->instances.extract(id);
    instance = std::move(node.mapped());
    state_->gone += instance->stats().lasting();
    state_->publish();
  });
  return {};
}

Result<void> Engine::submit(std::shared_ptr<const Request> request,
                            std::shared_ptr<DeltaSink> sink) {
  const auto instance = state_->find(request->instance);
  if (!instance) return no_instance(request->instance);
  O3_TRY(check_request(*request, instance->limits));
  return state_->inbox.submit({.request = std::move(request), .sink = std::move(sink)});
}

void Engine::cancel(RequestId id) noexcept {
  state_->inbox.cancel(id);
}

InstanceInfo Engine::instance(InstanceId id) const {
  const auto instance = state_->find(id);
  if (!instance) return {};
  return {.context = instance->limits.context, .vocabulary = instance->limits.vocabulary};
}

bool Engine::ready() const noexcept {
  if (!state_->inbox.open()) return false;
  const std::lock_guard lock(state_->mutex);
  return std::ranges::all_of(state_->listed,
                             [](const auto& entry) { return entry.second.backend->healthy(); });
}

void Engine::drain(Nanoseconds timeout) {
  state_->inbox.close("the server is shutting down");
  if (state_->inbox.wait_until_settled(timeout)) return;
  state_->inbox.cancel_all();
  state_->inbox.wait_until_settled();
}

}  // namespace o3::engine
