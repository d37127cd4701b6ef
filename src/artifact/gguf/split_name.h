// SPDX-License-Identifier: Apache-2.0
// Names of the parts of a split model: DIR/NAME-00002-of-00005.gguf. Internal to artifact.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace o3::artifact {

inline constexpr std::string_view kSplitCount = "split.count";
inline constexpr std::string_view kSplitNumber = "split.no";  // from 0; file names count from 1
inline constexpr std::string_view kSplitTensors = "split.tensors.count";  // of all parts

class SplitName {
 public:
  // From the path of any part of `count`; kInvalid when it is not named like one.
  static Result<SplitName> of(const std::filesystem::path& path, uint32_t count);
  std::filesystem::path part(uint32_t number) const;  // number counts from 0

 private:
  SplitName(std::filesystem::path stem, uint32_t count) : stem_(std::move(stem)), count_(count) {}

  std::filesystem::path stem_;  // DIR/NAME
  uint32_t count_;
};

}  // namespace o3::artifact
