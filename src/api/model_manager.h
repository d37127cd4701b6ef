// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace o3::api {

// A model of the server's configuration. The words are those of llama-server's router.
struct ManagedModel {
  enum class Status : uint8_t { kUnloaded, kLoading, kLoaded, kUnloading, kFailed };
  std::string id;
  Status status = Status::kUnloaded;
  std::string error;  // with kFailed: why it could not be loaded
};

// Loads and unloads models while others are served. Any thread; returns at once, list() tells how
// far it has come.
class ModelManager {
 public:
  virtual ~ModelManager() = default;
  virtual std::vector<ManagedModel> list() const = 0;
  // kNotFound: not of the configuration. kConflict: it is loaded, or on its way.
  virtual Result<void> load(std::string_view id) = 0;
  // The same; its running requests finish first. kConflict: it is not loaded.
  virtual Result<void> unload(std::string_view id) = 0;
};

}  // namespace o3::api
