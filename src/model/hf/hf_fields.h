// SPDX-License-Identifier: Apache-2.0
// Members of config.json, typed. null is as good as absent, which is how transformers writes it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.h"

namespace o3::model {

// Errors are kInvalid and name the member ("rope_scaling.factor").
class HfFields {
 public:
  // `path` stands before names in messages; the object must outlive this.
  explicit HfFields(const nlohmann::json& object, std::string path = {})
      : object_(&object), path_(std::move(path)) {}

  std::string label(const std::string& name) const { return path_ + name; }
  bool contains(const std::string& name) const { return object_->contains(name); }  // also null
  const nlohmann::json* find(const std::string& name) const;                        // not null
  const nlohmann::json& object() const noexcept { return *object_; }

  Result<std::optional<int64_t>> integer(const std::string& name) const;
  Result<std::optional<double>> real(const std::string& name) const;  // whole numbers too
  Result<std::optional<bool>> flag(const std::string& name) const;
  Result<std::optional<std::string>> text(const std::string& name) const;
  Result<std::optional<HfFields>> fields(const std::string& name) const;

 private:
  Error mismatch(const std::string& name, const char* wanted) const;

  const nlohmann::json* object_;
  std::string path_;
};

}  // namespace o3::model
