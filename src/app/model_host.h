// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/model_manager.h"
#include "api/model_table.h"
#include "app/model_entries.h"
#include "base/clock.h"
#include "device/backend.h"
#include "engine/engine.h"
#include "model/model.h"

namespace o3::app {

struct HostOptions {
  model::LoadOptions load{};
  engine::InstanceOptions instance{};  // of each model; kv_bytes is chosen
  int64_t kv_bytes = 0;                // of all models together; 0: from the free memory
  bool trust_assistant = false;
  std::chrono::milliseconds unload_timeout{30'000};  // for running requests to finish
};

// Opens the models of the configuration, puts them into the engine and before clients, and takes
// them away again. Work that takes long runs on a thread of its own, in the order it was asked for.
class ModelHost final : public api::ModelManager {
 public:
  // All of it must outlive the host.
  struct Parts {
    const Clock& clock;
    device::Backend& backend;
    engine::Engine& engine;
    api::ModelTable& table;
  };
  ModelHost(const Parts& parts, const HostOptions& options, std::vector<ModelEntry> entries);
  ~ModelHost() override;  // after the work at hand

  // Models of `at_start`, on the calling thread; the first error ends it.
  Result<void> load_at_start();

  std::vector<api::ManagedModel> list() const override;
  Result<void> load(std::string_view id) override;
  Result<void> unload(std::string_view id) override;

 private:
  using Status = api::ManagedModel::Status;
  struct Hosted {
    ModelEntry entry;
    Status status = Status::kUnloaded;
    std::string error{};
    engine::InstanceId instance{};
  };

  Result<void> begin(std::string_view id, std::initializer_list<Status> from, Status to);
  void work();
  void finish(Hosted& hosted, const Result<void>& done);
  Result<void> check_room(const ModelEntry& entry) const;
  Result<void> load_now(Hosted& hosted);
  Result<void> unload_now(Hosted& hosted);
  int64_t kv_share(const model::Model& model) const;

  const Parts parts_;
  const HostOptions options_;
  mutable std::mutex mutex_;  // of what follows; `entry` never changes
  std::condition_variable asked_;
  std::vector<Hosted> models_;
  std::deque<Hosted*> queue_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace o3::app
