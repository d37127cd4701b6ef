// SPDX-License-Identifier: Apache-2.0
// o3 model: looks into model files, writes them in the other form, makes random ones.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/command.h"
#include "app/describe_model.h"
#include "app/interrupt.h"
#include "app/runtime_options.h"
#include "artifact/gguf/gguf_file.h"
#include "artifact/hf/hf_directory.h"
#include "loader/convert.h"
#include "loader/loaded_model.h"
#include "model/footprint.h"
#include "model/synthetic.h"

namespace o3::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kRows = 512;  // of the step whose workspace is shown

struct InspectOptions {
  RuntimeOptions runtime;
  bool json = false;
};

Result<Json> describe_files(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    O3_ASSIGN(const artifact::HfDirectory directory, artifact::HfDirectory::open(path));
    return describe(directory);
  }
  O3_ASSIGN(const artifact::GgufFile file, artifact::GgufFile::open(path));
  return describe(file);
}

// What loading it here would take.
Result<Json> describe_memory(const RuntimeOptions& options) {
  O3_ASSIGN(const auto backend, make_backend(options));
  O3_ASSIGN(const model::ModelSource source, loader::open_model(options.model));
  O3_ASSIGN(const model::Footprint footprint,
            model::measure_model(source, *backend, load_options(options)));
  Json kv = Json::array();
  for (const model::KvFootprint& row : footprint.kv) {
    kv.push_back({{"layers", row.layers},
                  {"window", row.spec.window},
                  {"dtype", device::traits(row.spec.dtype).name},
                  {"bytes_per_token", row.bytes_per_token}});
  }
  return Json{{"device", backend->description()},
              {"compute", options.compute},
              {"weight_bytes", footprint.weight_bytes},
              {"embedding_bytes", footprint.embedding_bytes},
              {"kv", std::move(kv)},
              {"kv_bytes_per_token", footprint.kv_bytes_per_token()},
              {"workspace_rows", kRows},
              {"workspace_bytes", footprint.workspace_bytes(kRows, 1)},
              {"logit_bytes_per_row", footprint.logit_bytes(1)}};
}

std::string memory_text(const Json& memory) {
  std::string out = "\nMemory (" + memory["device"].get<std::string>() + ", " +
                    memory["compute"].get<std::string>() + ")\n";
  out += "  weights, packed           " + memory["weight_bytes"].dump() + " bytes\n";
  out += "  embedding, in the file    " + memory["embedding_bytes"].dump() + " bytes\n";
  for (const Json& row : memory["kv"]) {
    const bool windowed = row["window"] != 0;
    out += "  KV of " + row["layers"].dump() + " layers" +
           (windowed ? " (window " + row["window"].dump() + ")" : "") + ", " +
           row["dtype"].get<std::string>() + "   " + row["bytes_per_token"].dump() +
           " bytes per token\n";
  }
  out += "  workspace, " + memory["workspace_rows"].dump() + " rows       " +
         memory["workspace_bytes"].dump() + " bytes\n";
  return out + "  logits                    " + memory["logit_bytes_per_row"].dump() +
         " bytes per row\n";
}

Result<void> inspect(const InspectOptions& options) {
  O3_ASSIGN(Json all, describe_files(options.runtime.model));
  // Files of models that this build cannot run are looked into as well.
  const Result<Json> memory = describe_memory(options.runtime);
  all["memory"] = memory.ok() ? *memory : Json{{"error", memory.error().message}};
  std::string text;
  if (options.json) {
    text = all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  } else {
    text = describe_text(all);
    text += memory.ok() ? memory_text(*memory)
                        : "\nThis build cannot run it: " + memory.error().message + "\n";
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return {};
}

struct ConvertCommand {
  std::string from;
  std::string to;
  bool force = false;
  bool json = false;
};

// Runs what writes a file; Ctrl-C and its like stop it, and nothing is left behind.
template <class Write>
auto interruptible(const Write& write) {
  Interrupt interrupt;
  std::atomic<bool> stopped{false};
  const auto stopping = interrupt.handle([&stopped] { stopped = true; });
  return write([&stopped] { return !stopped.load(); });
}

Result<void> convert(const ConvertCommand& command) {
  const auto overwrite = command.force ? artifact::Overwrite::kYes : artifact::Overwrite::kNo;
  O3_ASSIGN(const loader::ConvertResult result, interruptible([&](artifact::KeepGoing keep_going) {
              return loader::convert_model({.from = command.from,
                                            .to = command.to,
                                            .overwrite = overwrite,
                                            .keep_going = std::move(keep_going)});
            }));
  for (const std::string& note : result.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (result.widened > 0) {
    std::fprintf(stderr, "note: %lld quantised tensors became BF16\n",
                 static_cast<long long>(result.widened));
  }
  if (command.json) {
    const Json told{{"out", command.to},
                    {"format", result.format},
                    {"tensors", result.tensors},
                    {"widened", result.widened},
                    {"notes", result.notes}};
    std::printf("%s\n", told.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    std::printf("%lld tensors written as %s\n", static_cast<long long>(result.tensors),
                result.format.c_str());
  }
  return {};
}

void add_convert(CLI::App& parent, Action& action) {
  auto options = std::make_shared<ConvertCommand>();
  CLI::App* command = parent.add_subcommand(
      "convert", "Write a GGUF file as a Hugging Face directory, or the other way");
  command->add_option("--model", options->from, kModelHelp)->required();
  command->add_option("--out", options->to, "What to write: the other of the two")->required();
  command->add_flag("--force", options->force, "Replace what is there");
  command->add_flag("--json", options->json, "One JSON object on standard output");
  command->callback([options, &action] {
    action = [options] {
      const Result<void> done = convert(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
}

struct SynthOptions {
  std::string shape = "llama3-8b";
  std::string dtype = "bf16";
  std::string head_dtype;
  std::string out;
};

const std::map<std::string, device::DType> kDTypes = {{"bf16", device::DType::kBF16},
                                                      {"f16", device::DType::kF16},
                                                      {"q4_0", device::DType::kQ4_0},
                                                      {"q8_0", device::DType::kQ8_0}};

Result<void> synthesize(const SynthOptions& options) {
  const std::string& head = options.head_dtype.empty() ? options.dtype : options.head_dtype;
  const model::SyntheticTypes types{.matrices = kDTypes.at(options.dtype),
                                    .head = kDTypes.at(head)};
  return interruptible([&](const artifact::KeepGoing& keep_going) {
    return model::write_synthetic(options.shape, types, options.out, keep_going);
  });
}

void add_synth(CLI::App& model, Action& action) {
  auto options = std::make_shared<SynthOptions>();
  std::vector<std::string> shapes;
  for (const auto& shape : model::synthetic_shapes()) shapes.emplace_back(shape.name);
  CLI::App* command =
      model.add_subcommand("synth", "Write a model of random weights, to measure speed with");
  command->add_option("--shape", options->shape, "Published model whose shape it has")
      ->check(CLI::IsMember(shapes))
      ->capture_default_str();
  command->add_option("--dtype", options->dtype, "Type of the weights")
      ->check(CLI::IsMember({"bf16", "f16", "q4_0", "q8_0"}))
      ->capture_default_str();
  command
      ->add_option("--head-dtype", options->head_dtype,
                   "Type of embedding and head (default: that of the weights)")
      ->check(CLI::IsMember({"bf16", "f16", "q4_0", "q8_0"}));
  command->add_option("--out", options->out, "GGUF file to write")->required();
  command->callback([options, &action] {
    action = [options] {
      const Result<void> done = synthesize(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
}

}  // namespace

void add_model_command(CLI::App& app, Action& action) {
  CLI::App* model = app.add_subcommand("model", "Look into model files, convert or make them");
  model->require_subcommand(1);
  add_convert(*model, action);
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = model->add_subcommand("inspect", "Metadata, tensors and memory of a model");
  // Either way; required() would ask for both in the help.
  CLI::Option* named = command->add_option("--model", options->runtime.model, kModelHelp);
  command->add_option("PATH", options->runtime.model, "The same, without --model")->excludes(named);
  command->add_flag("--json", options->json, "One JSON object on standard output");
  add_runtime_options(*command, options->runtime);
  command->callback([options, &action] {
    action = [options] {
      if (options->runtime.model.empty()) {
        return report_usage("give a model: o3 model inspect PATH");
      }
      const Result<void> done = inspect(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
  add_synth(*model, action);
}

}  // namespace o3::app
