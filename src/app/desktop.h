// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace o3::app {

// Asks the desktop (xdg-open) to show a page; does nothing where there is no display or no
// xdg-open. Never waits for the browser.
void open_in_browser(const std::string& url);

}  // namespace o3::app
