// SPDX-License-Identifier: Apache-2.0
// o3 plan: whether a model with so many sequences of such a context fits this machine.
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "app/command.h"
#include "app/kv_budget.h"
#include "app/number_option.h"
#include "app/runtime_options.h"
#include "loader/loaded_model.h"
#include "model/memory_plan.h"

namespace o3::app {
namespace {

using Json = nlohmann::ordered_json;

struct PlanOptions {
  RuntimeOptions runtime;
  model::PlanQuery query;
  int64_t memory_mib = 0;  // 0: what is free
  bool json = false;
};

// What this program has resident before it loads a model; 0 when unknown.
int64_t program_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  int64_t resident = 0;
  file >> pages >> resident;
  constexpr int64_t kPage = 4096;
  return file ? resident * kPage : 0;
}

struct Answer {
  model::MemoryPlan plan;
  int64_t program = 0;
  std::optional<int64_t> free;  // nothing when unknown
  std::optional<int64_t> sequences;
  std::optional<int64_t> context;

  int64_t total() const { return plan.total() + program; }
  bool fits() const { return !free || total() <= *free; }
};

Json to_json(const PlanOptions& options, const std::string& device, const Answer& answer) {
  Json out{{"device", device},
           {"sequences", options.query.sequences},
           {"context", options.query.context},
           {"step_rows", options.query.step_rows},
           {"weight_bytes", answer.plan.weights},
           {"embedding_bytes", answer.plan.embedding},
           {"kv_bytes", answer.plan.kv},
           {"workspace_bytes", answer.plan.workspace},
           {"logit_bytes", answer.plan.logits},
           {"program_bytes", answer.program},
           {"total_bytes", answer.total()},
           {"free_bytes", nullptr},
           {"fits", answer.fits()},
           {"most_sequences", nullptr},
           {"longest_context", nullptr}};
  if (answer.free) out["free_bytes"] = *answer.free;
  if (answer.sequences) out["most_sequences"] = *answer.sequences;
  if (answer.context) out["longest_context"] = *answer.context;
  return out;
}

void print(const PlanOptions& options, const std::string& device, const Answer& answer) {
  const auto row = [](const char* name, int64_t bytes) {
    std::printf("  %-28s %10.1f MiB\n", name, static_cast<double>(bytes) / (1 << 20));
  };
  std::printf("Sequences: %lld of %lld tokens, on %s\n",
              static_cast<long long>(options.query.sequences),
              static_cast<long long>(options.query.context), device.c_str());
  row("weights", answer.plan.weights);
  row("embedding, mapped file", answer.plan.embedding);
  row("KV cache", answer.plan.kv);
  row("workspace of a step", answer.plan.workspace);
  row("logits", answer.plan.logits);
  if (answer.program > 0) row("program", answer.program);
  row("in all", answer.total());
  if (!answer.free) return;
  row("free", *answer.free);
  std::printf("%s\n", answer.fits() ? "It fits." : "It does not fit.");
  if (!answer.sequences && !answer.context) {
    std::printf("Not even one token does: take a smaller model, or a smaller weight type.\n");
  }
  if (answer.sequences) {
    std::printf("Most sequences of %lld tokens: %lld.\n",
                static_cast<long long>(options.query.context),
                static_cast<long long>(*answer.sequences));
  }
  if (answer.context) {
    std::printf("Longest context of %lld sequences: %lld tokens.\n",
                static_cast<long long>(options.query.sequences),
                static_cast<long long>(*answer.context));
  }
}

Result<bool> plan(PlanOptions options) {
  O3_ASSIGN(const auto backend, make_backend(options.runtime));
  const auto device_free = backend->free_bytes();
  O3_ASSIGN(const model::ModelSource source, loader::open_model(options.runtime.model));
  O3_ASSIGN(const model::Footprint footprint,
            model::measure_model(source, *backend, load_options(options.runtime)));
  if (options.query.context == 0) options.query.context = footprint.config.context;
  if (options.query.context > footprint.config.context) {
    return invalid("the model's context is " + std::to_string(footprint.config.context) + " tokens",
                   "context");
  }
  Answer answer;
  O3_ASSIGN(answer.plan, model::plan_memory(footprint, options.query));
  answer.free = device_free ? device_free : free_memory("/");
  if (options.memory_mib > 0) answer.free = options.memory_mib << 20;
  if (!device_free) answer.program = program_bytes();
  if (answer.free) {
    const int64_t room = *answer.free - answer.program;
    answer.sequences = model::most_sequences(footprint, options.query, room);
    answer.context = model::longest_context(footprint, options.query, room);
  }
  if (options.json) {
    std::printf("%s\n", to_json(options, backend->description(), answer).dump().c_str());
  } else {
    print(options, backend->description(), answer);
  }
  return answer.fits();
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan", "The memory that a model would take, and whether it fits");
  command->footer("Exit code 1: it does not fit.");
  command->add_option("--model", options->runtime.model, kModelHelp)->required();
  add_number<int64_t>(*command, "--sequences", options->query.sequences, 1, 65536,
                      "Sequences at a time");
  add_number<int64_t>(*command, "--context", options->query.context, 1, 1 << 24,
                      "Tokens of each (default: the model's context)");
  add_number<int64_t>(*command, "--step-rows", options->query.step_rows, 1, 1 << 20,
                      "Rows of the largest step");
  add_number<int64_t>(*command, "--memory-mib", options->memory_mib, 1, int64_t{1} << 30,
                      "Ask for this much memory (default: what is free)");
  command->add_flag("--json", options->json, "One JSON object on standard output");
  add_runtime_options(*command, options->runtime);
  command->callback([options, &action] {
    action = [options] {
      const Result<bool> fits = plan(*options);
      if (!fits.ok()) return report(fits.error());
      return *fits ? ExitCode::kOk : ExitCode::kFailed;
    };
  });
}

}  // namespace o3::app
