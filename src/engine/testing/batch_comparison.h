// SPDX-License-Identifier: Apache-2.0
// For tests: runs requests alone, then together with random arrivals and small steps, on a model.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "engine/model_instance.h"
#include "engine/testing/test_support.h"

namespace o3::engine {

using Answers = std::map<uint64_t, std::vector<Token>>;

inline std::unique_ptr<ModelInstance> test_instance(device::Backend& backend,
                                                    std::shared_ptr<const model::Model> model,
                                                    kernels::Compute compute, const Clock& clock,
                                                    int64_t pages = 4096,
                                                    bool share_prefixes = true) {
  InstanceOptions options;
  options.page_tokens = 16;
  const auto layout = cache::make_page_layout(model->cache_specs(), options.page_tokens);
  O3_CHECK(layout.ok(), "the layout can be made");
  options.kv_bytes = pages * layout->page_bytes;
  options.max_running = 8;
  options.max_step_rows = 48;
  options.share_prefixes = share_prefixes;
  options.compute = compute;
  auto made = ModelInstance::create(options, backend, std::move(model), clock);
  O3_CHECK(made.ok(), "the instance can be made");
  return *std::move(made);
}

inline Answers answers_of(const RecordingSink& sink) {
  Answers answers;
  for (auto& [id, record] : sink.records()) answers[id] = record.tokens;
  return answers;
}

inline Answers answer_alone(ModelInstance& instance, const std::vector<Ask>& asks) {
  const auto sink = std::make_shared<RecordingSink>();
  Outbox outbox;
  std::vector<RequestId> finished;
  for (const Ask& ask : asks) {
    instance.submit({make_request(ask), sink});
    while (!instance.idle()) {
      instance.step([] {}, outbox, finished);
      outbox.deliver();
    }
  }
  return answers_of(*sink);
}

// Request i arrives before request i + 1, some steps apart; a virtual clock makes the prefill
// budget jump about.
inline Answers answer_together(ModelInstance& instance, ManualClock& clock,
                               const std::vector<Ask>& asks, uint32_t seed) {
  const auto sink = std::make_shared<RecordingSink>();
  std::mt19937 random(seed);
  Outbox outbox;
  std::vector<RequestId> finished;
  for (size_t next = 0; next < asks.size() || !instance.idle();) {
    while (next < asks.size() && (instance.idle() || random() % 4 == 0)) {
      instance.submit({make_request(asks[next++]), sink});
    }
    instance.step([&] { clock.advance(std::chrono::milliseconds(random() % 20)); }, outbox,
                  finished);
    outbox.deliver();
  }
  return answers_of(*sink);
}

}  // namespace o3::engine
