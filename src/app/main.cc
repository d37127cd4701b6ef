// SPDX-License-Identifier: Apache-2.0
// o3: one executable, every capability a subcommand.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"
#include "base/log.h"
#include "base/printable.h"

namespace o3::app {
namespace {

constexpr AddCommand kCommands[] = {
    add_serve_command,       add_keys_command, add_plan_command,  add_run_command,
    add_bench_command,       add_eval_command, add_model_command, add_text_command,
    add_text_render_command,  // after `text`, which it widens
};

// Numbers 0 to 2 never belong to anything else: a closed one is opened the wrong way round, so that
// using it fails as it would have.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// A mapped file that somebody makes shorter while it is in use: the pages behind its new end cannot
// be read. Nothing can go on without them, and the user should know why.
extern "C" void end_at_lost_page(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code == BUS_ADRERR) {
    constexpr std::string_view kMessage =
        "error: a file became shorter while it was in use; replace model files by rename, never "
        "in place\n";
    const ssize_t ignored = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
    static_cast<void>(ignored);
    ::_exit(static_cast<int>(ExitCode::kEnvironment));
  }
  std::signal(signal, SIG_DFL);  // another cause: it comes again when this returns
}

void explain_lost_pages() {
  struct sigaction action {};
  action.sa_sigaction = &end_at_lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

// Results that never arrived are a failure.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "error: cannot write to standard output\n");
  return code == 0 ? static_cast<int>(ExitCode::kEnvironment) : code;
}

// The innermost command that the words name.
const CLI::App& command_of(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

// "o3 keys add".
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

// CLI11 says only that a command is missing, also when there is a word that is none.
std::string words_for(const CLI::App& command, const CLI::ParseError& problem) {
  if (dynamic_cast<const CLI::RequiredError*>(&problem) == nullptr) return problem.what();
  const bool lacks_command =
      command.get_require_subcommand_min() > command.get_subcommands().size();
  const std::vector<std::string> rest = command.remaining();
  if (!lacks_command) return problem.what();
  if (rest.empty()) return "give a command of " + command.get_name();
  return "there is no command \"" + printable(rest.front()) + "\" of " + command.get_name();
}

ExitCode report_parse(const CLI::App& app, const CLI::ParseError& problem) {
  const CLI::App& command = command_of(app);
  return report_usage(words_for(command, problem) + "; " + full_name(command) +
                      " --help shows what there is");
}

int run(int argc, char** argv) {
  CLI::App app{"O3: a private LLM platform"};
  app.name("o3");
  app.set_version_flag("--version", "o3 " O3_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 failed, 2 bad usage, 3 bad input, 4 environment, 130 interrupted");

  Action action;
  for (const AddCommand add : kCommands) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    // CLI11 reports --help and --version through the same type, with exit code 0.
    if (problem.get_exit_code() != 0) return static_cast<int>(report_parse(app, problem));
    app.exit(problem);
    return static_cast<int>(ExitCode::kOk);
  }
  return static_cast<int>(action());
}

}  // namespace
}  // namespace o3::app

int main(int argc, char** argv) {
  try {
    o3::app::occupy_standard_streams();
    o3::log::init();
    o3::app::explain_lost_pages();
    std::signal(SIGXFSZ, SIG_IGN);  // a file too large is an error of its write
    return o3::app::flushed(o3::app::run(argc, argv));
  } catch (const std::exception& problem) {  // a library's exception nobody met at its border
    std::fprintf(stderr, "error: %s\n", problem.what());
    return static_cast<int>(o3::app::ExitCode::kFailed);
  }
}
