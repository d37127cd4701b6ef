// SPDX-License-Identifier: Apache-2.0
#include "app/desktop.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

extern char** environ;

namespace o3::app {

namespace {

// A page only this user can read that leads to `url`; empty when it cannot be written. The link
// itself must not stand on a command line, which every local user can read.
std::string redirect_page(const std::string& url) {
  std::string path = (std::filesystem::temp_directory_path() / "o3-XXXXXX.html").string();
  constexpr int kSuffixLength = 5;
  const int file = mkstemps(path.data(), kSuffixLength);  // mode 0600
  if (file < 0) return {};
  const std::string html =
      "<!doctype html><meta http-equiv=refresh content=\"0;url=" + url + "\">\n";
  const bool written = write(file, html.data(), html.size()) == static_cast<ssize_t>(html.size());
  close(file);
  return written ? path : std::string();
}

}  // namespace

void open_in_browser(const std::string& url) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  std::string program = "xdg-open";
  std::string page = redirect_page(url);
  if (page.empty()) return;
  const std::vector<char*> arguments = {program.data(), page.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments.data(), environ) == 0) {
    // Reaped by a waiter that owns nothing of ours, so that no zombie stays.
    std::thread([child] { waitpid(child, nullptr, 0); }).detach();
  }
  posix_spawn_file_actions_destroy(&actions);
}

}  // namespace o3::app
