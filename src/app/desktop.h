// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace o3::app {

// A page shown by the desktop's browser (xdg-open); nothing where there is no display or no
// xdg-open. The link itself must not stand on a command line, which every local user can read, so
// the browser is given a file that leads to it; the file is gone when this object is.
class OpenedPage {
 public:
  // Never waits for the browser.
  explicit OpenedPage(const std::string& url);
  ~OpenedPage();
  OpenedPage(const OpenedPage&) = delete;
  OpenedPage& operator=(const OpenedPage&) = delete;

 private:
  std::filesystem::path redirect_;  // empty: none was written
};

}  // namespace o3::app
