// SPDX-License-Identifier: Apache-2.0
#include "app/desktop.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

extern char** environ;

namespace o3::app {
namespace {

// Readable by this user only (mode 0600); empty when it cannot be written.
std::filesystem::path write_redirect(const std::string& url) {
  std::error_code none;
  const auto folder = std::filesystem::temp_directory_path(none);
  if (none) return {};
  std::string path = (folder / "o3-XXXXXX.html").string();
  constexpr int kSuffixLength = 5;
  const int file = mkostemps(path.data(), kSuffixLength, O_CLOEXEC);
  if (file < 0) return {};
  const std::string html =
      "<!doctype html><meta http-equiv=refresh content=\"0;url=" + url + "\">\n";
  const bool written = write(file, html.data(), html.size()) == static_cast<ssize_t>(html.size());
  close(file);
  if (written) return path;
  unlink(path.c_str());
  return {};
}

// Starts a program that outlives us: without our files (a listening socket among them, which would
// keep the port taken) and with no signal blocked.
void spawn_detached(std::string program, std::string argument) {
  const std::vector<char*> arguments = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // A process group of its own: Ctrl-C on our terminal is not meant for the browser.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), &actions, &attributes, arguments.data(), environ) ==
      0) {
    // Reaped by a waiter that owns nothing of ours, so that no zombie stays.
    std::thread([child] { waitpid(child, nullptr, 0); }).detach();
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

}  // namespace

OpenedPage::OpenedPage(const std::string& url) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return;
  redirect_ = write_redirect(url);
  if (!redirect_.empty()) spawn_detached("xdg-open", redirect_.string());
}

OpenedPage::~OpenedPage() {
  if (!redirect_.empty()) unlink(redirect_.c_str());
}

}  // namespace o3::app
