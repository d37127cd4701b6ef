// SPDX-License-Identifier: Apache-2.0
#include "app/state_dir.h"

#include <cstdlib>

namespace o3::app {

Result<std::filesystem::path> state_dir(const std::string& configured) {
  if (!configured.empty()) return std::filesystem::path(configured);
  const char* state = std::getenv("XDG_STATE_HOME");
  // The XDG specification asks to ignore relative paths.
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "o3";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".local/state/o3";
  return invalid("no place for the server's state: give --data-dir DIR (HOME is not set)",
                 "data_dir");
}

}  // namespace o3::app
