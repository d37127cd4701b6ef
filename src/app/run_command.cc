// SPDX-License-Identifier: Apache-2.0
// o3 run: answers one prompt on the command line, through the same engine that serves.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/blocking_sink.h"
#include "app/command.h"
#include "app/interrupt.h"
#include "app/kv_budget.h"
#include "app/number_option.h"
#include "app/runtime_options.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "loader/loaded_model.h"
#include "text/detokenizer.h"
#include "text/with_bos.h"

namespace o3::app {
namespace {

struct RunOptions {
  RuntimeOptions runtime;
  std::string prompt;
  std::vector<Token> prompt_ids;
  int max_tokens = 256;
  engine::SamplingParams sampling;
  bool raw = false;
  bool json = false;
};

Result<std::vector<Token>> prompt_tokens(const RunOptions& options,
                                         const loader::LoadedModel& loaded, const Clock& clock) {
  if (!options.prompt_ids.empty()) return options.prompt_ids;
  const text::Tokenizer& tokenizer = *loaded.tokenizer;
  if (options.raw) {
    O3_ASSIGN(auto tokens, tokenizer.encode(options.prompt, text::SpecialTokens::kParse));
    return text::with_bos(tokenizer, std::move(tokens));
  }
  text::RenderInput input;
  input.messages = {{"user", options.prompt}};
  O3_ASSIGN(const auto segments, loader::render_chat(loaded, std::move(input), clock));
  O3_ASSIGN(auto tokens, tokenizer.encode(segments));
  return text::with_bos(tokenizer, std::move(tokens));
}

// "1,2,3"; nothing when an id is not a number.
std::optional<std::vector<Token>> read_ids(std::string_view text) {
  std::vector<Token> ids;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t comma = std::min(text.find(',', at), text.size());
    Token id = 0;
    if (!read_number(text.substr(at, comma - at), id) || id < 0) return std::nullopt;
    ids.push_back(id);
    at = comma + 1;
  }
  return ids;
}

std::string_view finish_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kStop:
      return "stop";
    case Outcome::kLength:
      return "length";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kDeadline:
      return "deadline";
    case Outcome::kError:
      return "error";
  }
  return "error";
}

// Everything one answer produced.
struct Answer {
  std::vector<Token> tokens;
  std::string text;
  engine::Finish finish;
  double first_token_s = 0;
  double total_s = 0;
};

double seconds(Nanoseconds span) {
  return std::chrono::duration<double>(span).count();
}

// Collects one request's deltas; `show` prints text as it comes.
Answer collect(BlockingSink& sink, const text::Tokenizer& tokenizer, const Clock& clock,
               bool show) {
  Answer answer;
  text::Detokenizer detokenizer(tokenizer);
  const Nanoseconds start = clock.monotonic();
  while (true) {
    const engine::Delta delta = sink.next();
    if (answer.tokens.empty() && !delta.tokens.empty()) {
      answer.first_token_s = seconds(clock.monotonic() - start);
    }
    const size_t before = answer.text.size();
    for (const Token token : delta.tokens) {
      answer.tokens.push_back(token);
      detokenizer.push(token, answer.text);
    }
    if (delta.finish.has_value()) detokenizer.flush(answer.text);
    if (show) {
      std::fwrite(answer.text.data() + before, 1, answer.text.size() - before, stdout);
      std::fflush(stdout);
    }
    if (delta.finish.has_value()) {
      answer.finish = *delta.finish;
      answer.total_s = seconds(clock.monotonic() - start);
      return answer;
    }
  }
}

nlohmann::ordered_json to_json(const std::vector<Token>& prompt, const Answer& answer) {
  const double decode_s = answer.total_s - answer.first_token_s;
  const auto decoded = static_cast<double>(answer.tokens.size()) - 1;
  return {
      {"prompt_token_ids", prompt},
      {"token_ids", answer.tokens},
      {"text", answer.text},
      {"finish_reason", finish_name(answer.finish.outcome)},
      {"usage",
       {{"prompt_tokens", answer.finish.prompt_tokens},
        {"completion_tokens", answer.finish.completion_tokens},
        {"total_tokens", answer.finish.prompt_tokens + answer.finish.completion_tokens}}},
      {"time_to_first_token_s", answer.first_token_s},
      {"tokens_per_s", decoded > 0 && decode_s > 0 ? decoded / decode_s : 0.0},
  };
}

Result<void> run(const RunOptions& options) {
  Interrupt interrupt;  // before the first thread
  SystemClock clock;
  O3_ASSIGN(const auto backend, make_backend(options.runtime));
  const model::LoadOptions load = load_options(options.runtime);
  O3_ASSIGN(const loader::LoadedModel loaded,
            loader::load_model_file(options.runtime.model, *backend, load));
  O3_ASSIGN(std::vector<Token> prompt, prompt_tokens(options, loaded, clock));

  prometheus::Registry registry;
  engine::EngineMetrics metrics(registry);
  engine::InstanceOptions instance;
  instance.compute = load.compute;
  instance.max_running = 1;
  const auto wanted = static_cast<int64_t>(prompt.size()) + options.max_tokens;
  instance.kv_bytes = kv_bytes_for(*loaded.model, instance.page_tokens,
                                   std::min<int64_t>(wanted, loaded.model->config().context));
  O3_ASSIGN(const auto engine, engine::Engine::create({}, clock, metrics));
  O3_TRY(engine->load(instance, *backend, loaded.model));

  engine::Generate generate;
  generate.prompt = prompt;
  generate.sampling = options.sampling;
  generate.max_new_tokens = options.max_tokens;
  generate.stop_tokens = loaded.stop_tokens;
  auto request = std::make_shared<engine::Request>();
  request->id = RequestId{1};
  request->work = std::move(generate);
  auto sink = std::make_shared<BlockingSink>();
  O3_TRY(engine->submit(request, sink));

  const auto cancelling = interrupt.handle([&engine] { engine->cancel(RequestId{1}); });
  const Answer answer = collect(*sink, *loaded.tokenizer, clock, !options.json);
  if (answer.finish.error.has_value()) return *answer.finish.error;
  if (options.json) {
    std::printf("%s\n", to_json(prompt, answer).dump().c_str());
  } else {
    std::printf("\n");
  }
  if (answer.finish.outcome == Outcome::kCancelled) {
    return Error{Code::kCancelled, "interrupted", {}};
  }
  return {};
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  options->sampling.temperature = 0.0F;
  CLI::App* command = app.add_subcommand("run", "Answer one prompt");
  command->add_option("--model", options->runtime.model, kModelHelp)->required();
  auto* prompt = command->add_option("--prompt", options->prompt, "The user's message");
  auto* ids = command->add_option_function<std::string>(
      "--prompt-ids",
      [options](const std::string& text) {
        options->prompt_ids = read_ids(text).value_or(std::vector<Token>{});
      },
      "Token ids to continue, instead of --prompt");
  ids->type_name("ID,ID,...")->excludes(prompt);
  ids->check([](const std::string& text) -> std::string {
    return read_ids(text) ? "" : "takes token ids, as in 1,2,3; not '" + text + "'";
  });
  engine::SamplingParams& sampling = options->sampling;
  add_number(*command, "--max-tokens", options->max_tokens, 1, 1 << 24, "Longest answer");
  add_number(*command, "--temperature", sampling.temperature, 0.0F, 100.0F, "0: greedy");
  add_number(*command, "--top-k", sampling.top_k, 0, 1 << 24, "0: off");
  add_number(*command, "--top-p", sampling.top_p, 1e-6F, 1.0F, "1: off");
  add_number(*command, "--seed", sampling.seed, uint64_t{0}, UINT64_MAX, "Seed of the sampler");
  command->add_flag("--raw", options->raw,
                    "Continue the prompt as text, without the chat template");
  command->add_flag("--json", options->json, "One JSON object on standard output");
  add_runtime_options(*command, options->runtime);
  command->callback([options, &action] {
    action = [options] {
      if (options->prompt.empty() && options->prompt_ids.empty()) {
        return report_usage("give --prompt TEXT (not empty) or --prompt-ids IDS");
      }
      const Result<void> done = run(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
}

}  // namespace o3::app
