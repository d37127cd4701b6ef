// SPDX-License-Identifier: Apache-2.0
// o3: one executable, every capability a subcommand.
#include <cstdio>
#include <exception>

#include "app/command.h"
#include "base/log.h"

namespace o3::app {
namespace {

constexpr AddCommand kCommands[] = {
    add_serve_command, add_run_command, add_bench_command, add_eval_command, add_model_command,
};

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
    return app.exit(problem) == 0 ? static_cast<int>(ExitCode::kOk)
                                  : static_cast<int>(ExitCode::kUsage);
  }
  return static_cast<int>(action());
}

}  // namespace
}  // namespace o3::app

int main(int argc, char** argv) {
  try {
    o3::log::init();
    return o3::app::run(argc, argv);
  } catch (const std::exception& problem) {  // a library's exception nobody met at its border
    std::fprintf(stderr, "error: %s\n", problem.what());
    return static_cast<int>(o3::app::ExitCode::kFailed);
  }
}
