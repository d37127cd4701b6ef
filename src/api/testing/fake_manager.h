// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "api/model_manager.h"

namespace o3::api::testing {

// Does at once what it is asked for, with the models it is given.
class FakeManager final : public ModelManager {
 public:
  std::vector<ManagedModel> list() const override {
    const std::lock_guard lock(mutex_);
    return models;
  }
  Result<void> load(std::string_view id) override {
    return move(id, ManagedModel::Status::kUnloaded, ManagedModel::Status::kLoading);
  }
  Result<void> unload(std::string_view id) override {
    return move(id, ManagedModel::Status::kLoaded, ManagedModel::Status::kUnloading);
  }

  std::vector<ManagedModel> models{
      {.id = "octo", .status = ManagedModel::Status::kLoaded, .error = {}},
      {.id = "other", .status = ManagedModel::Status::kUnloaded, .error = {}},
      {.id = "third", .status = ManagedModel::Status::kFailed, .error = "no \"room\""}};

 private:
  Result<void> move(std::string_view id, ManagedModel::Status from, ManagedModel::Status to) {
    const std::lock_guard lock(mutex_);
    for (ManagedModel& model : models) {
      if (model.id != id) continue;
      if (model.status != from) return Error{Code::kConflict, "not in that state", "model"};
      model.status = to;
      return {};
    }
    return Error{Code::kNotFound, "no such model", "model"};
  }

  mutable std::mutex mutex_;
};

}  // namespace o3::api::testing
