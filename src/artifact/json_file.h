// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "config/json_reader.h"

namespace o3::artifact {

// The JSON object that a file holds; errors begin with the path. kInvalid: anything else than an
// object; otherwise as MappedFile::open() and config::read_json().
Result<nlohmann::json> read_json_file(const std::filesystem::path& path,
                                      const config::JsonLimits& limits = {});

}  // namespace o3::artifact
