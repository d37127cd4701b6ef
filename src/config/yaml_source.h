// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"

namespace o3::config {

// The scalars of a YAML file (<= 1 MiB, <= 8 levels, <= 10,000 scalars) as dotted names with their
// places ("FILE:LINE"); a sequence gives its name once per item. One document, without control
// characters; kNotFound: it cannot be read. Names are not checked here.
Result<std::vector<Override>> read_yaml(const std::filesystem::path& file);

}  // namespace o3::config
