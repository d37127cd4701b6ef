// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace o3::app {

// Where the server keeps its state: `configured`, else $XDG_STATE_HOME/o3, else ~/.local/state/o3.
Result<std::filesystem::path> state_dir(const std::string& configured);

}  // namespace o3::app
