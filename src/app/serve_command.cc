// SPDX-License-Identifier: Apache-2.0
// o3 serve: the HTTP server. Its options are the rows of config/serve_settings.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/command.h"
#include "app/serve.h"
#include "config/serve_settings.h"
#include "config/snapshot.h"

namespace o3::app {
namespace {

struct ServeFlags {
  std::optional<std::filesystem::path> config_file;
  std::vector<config::Override> overrides;
  bool open_page = false;
  bool json = false;
};

// http.io_threads -> --http-io-threads; `models` is --model, once per model, `aliases` --alias.
std::string flag_name(const config::Setting& row) {
  if (row.name == config::serve::kModels.name) return "--model";
  if (row.name == config::serve::kAliases.name) return "--alias";
  std::string flag = "--";
  for (const char c : row.name) flag += c == '.' || c == '_' ? '-' : c;
  return flag;
}

std::string help_text(const config::Setting& row) {
  std::string help(row.doc);
  if (!row.standard.empty()) help += " [" + std::string(row.standard) + "]";
  return help;
}

void add_setting(CLI::App& command, const config::Setting& row,
                 const std::shared_ptr<ServeFlags>& flags) {
  const std::string flag = flag_name(row);
  const auto record = [flags, name = std::string(row.name), flag](const std::string& text) {
    flags->overrides.push_back({name, text, flag});
  };
  if (row.kind == config::Kind::kFlag) {
    command.add_flag_function(
        flag, [record](int64_t count) { record(count > 0 ? "true" : "false"); }, help_text(row));
    return;
  }
  auto* option = command.add_option_function<std::vector<std::string>>(
      flag,
      [record](const std::vector<std::string>& values) {
        for (const std::string& value : values) record(value);
      },
      help_text(row));
  option->type_name("VALUE")->allow_extra_args(false);  // a stray word is no second value
  if (row.kind == config::Kind::kList) {
    option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  } else {
    option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

Result<void> run(const ServeFlags& flags) {
  const std::optional<std::filesystem::path>& file = flags.config_file;
  O3_ASSIGN(const config::Snapshot settings,
            config::Snapshot::load(config::serve::kRows, file, flags.overrides));
  return serve(settings, {.open_page = flags.open_page, .json = flags.json});
}

// An error that names a setting is about how the command was called, wherever the value was
// written.
ExitCode report_serve(const Error& error) {
  const bool about_setting = std::ranges::any_of(
      config::serve::kRows, [&](const config::Setting& row) { return row.name == error.param; });
  const ExitCode code = report(error);
  const bool refused = error.code == Code::kInvalid || error.code == Code::kUnsupported;
  return about_setting && refused ? ExitCode::kUsage : code;
}

}  // namespace

void add_serve_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand("serve", "Serve models over HTTP");
  command
      ->add_option_function<std::string>(
          "--config", [flags](const std::string& file) { flags->config_file = file; },
          "YAML file; options given here win over it")
      ->type_name("FILE")
      ->check([](const std::string& file) -> std::string {
        return file.empty() ? "needs a file's name" : "";
      });
  for (const config::Setting& row : config::serve::kRows) add_setting(*command, row, flags);
  command->add_flag("--open", flags->open_page, "Open the chat page when there is a desktop");
  command->add_flag("--json", flags->json, "Print address, page link and new key as one JSON line");
  command->callback([flags, &action] {
    action = [flags] {
      const Result<void> done = run(*flags);
      return done.ok() ? ExitCode::kOk : report_serve(done.error());
    };
  });
}

}  // namespace o3::app
