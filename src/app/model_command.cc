// SPDX-License-Identifier: Apache-2.0
// o3 model: looks into model files.
#include <cstdio>
#include <memory>
#include <string>

#include "app/command.h"
#include "artifact/gguf/describe.h"
#include "artifact/gguf/gguf_file.h"

namespace o3::app {
namespace {

struct InspectOptions {
  std::string model;
  bool json = false;
};

Result<void> inspect(const InspectOptions& options) {
  O3_ASSIGN(const artifact::GgufFile file, artifact::GgufFile::open(options.model));
  const std::string text =
      options.json ? artifact::describe(file).dump() + "\n" : artifact::describe_text(file);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return {};
}

}  // namespace

void add_model_command(CLI::App& app, Action& action) {
  CLI::App* model = app.add_subcommand("model", "Look into model files");
  model->require_subcommand(1);
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = model->add_subcommand("inspect", "Metadata and tensors of a GGUF file");
  // Either way; required() would ask for both in the help.
  CLI::Option* named = command->add_option("--model", options->model, "GGUF file");
  command->add_option("FILE", options->model, "The same, without --model")->excludes(named);
  command->add_flag("--json", options->json, "One JSON object on standard output");
  command->callback([options, &action] {
    action = [options] {
      if (options->model.empty()) return report_usage("give a model file: o3 model inspect FILE");
      const Result<void> done = inspect(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
}

}  // namespace o3::app
