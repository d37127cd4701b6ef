// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace o3::app {

// What --data names, whole: a regular file, or "-" or "/dev/stdin" for standard input. A pipe or a
// device under a name is refused, as it may never begin, or never end. kTooLong beyond `most`
// bytes.
Result<std::string> read_data_file(const std::string& path, size_t most);

}  // namespace o3::app
