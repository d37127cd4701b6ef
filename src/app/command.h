// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>

#include "app/exit_code.h"

namespace o3::app {

// What a parsed command line asks to run.
using Action = std::function<ExitCode()>;

// A command adds its subcommand and options to `app`; when the user chose it, CLI11's callback
// stores the work in `action`, which main() runs once parsing is over.
using AddCommand = void (*)(CLI::App& app, Action& action);

void add_serve_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_keys_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_eval_command(CLI::App& app, Action& action);
void add_model_command(CLI::App& app, Action& action);
// Adds to `text`, which it makes where it is missing.
void add_text_render_command(CLI::App& app, Action& action);
void add_text_command(CLI::App& app, Action& action);

}  // namespace o3::app
