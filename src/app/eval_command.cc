// SPDX-License-Identifier: Apache-2.0
// o3 eval: quality of a model on data.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "app/command.h"
#include "app/data_file.h"
#include "app/interrupt.h"
#include "app/number_option.h"
#include "app/runtime_options.h"
#include "eval/logits_file.h"
#include "eval/perplexity.h"
#include "loader/loaded_model.h"

namespace o3::app {
namespace {

// Larger files are refused: the text, its tokens and the windows are held in memory.
constexpr size_t kMaxDataBytes = size_t{1} << 30;

struct PplOptions {
  RuntimeOptions runtime;
  std::string data;
  eval::PerplexityOptions perplexity;
  std::string bos = "none";
  bool json = false;
};

// One line, redrawn, when a person looks; on standard error, so that the result stands alone.
void draw_progress(const eval::PerplexityResult& so_far, int64_t windows) {
  constexpr int kWidth = 40;
  const int filled = static_cast<int>(so_far.windows * kWidth / windows);
  std::fprintf(stderr, "\r[%.*s%.*s] %lld/%lld windows, ppl %.4f ", filled,
               "########################################", kWidth - filled,
               "........................................", static_cast<long long>(so_far.windows),
               static_cast<long long>(windows), so_far.ppl);
  if (so_far.windows == windows) std::fprintf(stderr, "\n");
}

Result<void> evaluate(const PplOptions& options) {
  Interrupt interrupt;  // before the first thread
  O3_ASSIGN(const std::string text, read_data_file(options.data, kMaxDataBytes));
  O3_ASSIGN(const auto backend, make_backend(options.runtime));
  const model::LoadOptions load = load_options(options.runtime);
  O3_ASSIGN(const loader::LoadedModel loaded,
            loader::load_model_file(options.runtime.model, *backend, load));
  O3_ASSIGN(const std::vector<Token> tokens,
            loaded.tokenizer->encode(text, text::SpecialTokens::kPlain));
  eval::PerplexityOptions perplexity = options.perplexity;
  perplexity.compute = load.compute;
  perplexity.bos = options.bos == "replace" ? eval::WindowBos::kReplace : eval::WindowBos::kNone;
  std::atomic<bool> stopped{false};
  const auto stopping = interrupt.handle([&stopped] { stopped = true; });
  const bool watched = isatty(STDOUT_FILENO) != 0;
  const auto progress = [&stopped, watched](const eval::PerplexityResult& so_far, int64_t windows) {
    if (watched) draw_progress(so_far, windows);
    return !stopped.load();
  };
  O3_ASSIGN(const eval::PerplexityResult result,
            eval::perplexity(*loaded.model, *backend, tokens, loaded.tokenizer->bos(), perplexity,
                             progress));
  if (options.json) {
    std::printf("%s\n", eval::to_json(perplexity, result).dump().c_str());
  } else {
    std::printf("perplexity %.4f (nll %.6f) over %lld predictions of %lld windows, %lld tokens\n",
                result.ppl, result.nll, static_cast<long long>(result.scored),
                static_cast<long long>(result.windows), static_cast<long long>(result.tokens));
  }
  return {};
}

void add_ppl(CLI::App& parent, Action& action) {
  auto options = std::make_shared<PplOptions>();
  CLI::App* command = parent.add_subcommand("ppl", "Perplexity of a text file");
  command->add_option("--model", options->runtime.model, kModelHelp)->required();
  command
      ->add_option("--data", options->data, "Text file, taken as one string; - is standard input")
      ->required();
  eval::PerplexityOptions& perplexity = options->perplexity;
  add_number(*command, "--window", perplexity.window, 2, 1 << 24, "Tokens per window");
  add_number(*command, "--stride", perplexity.stride, 1, 1 << 24, "Windows start every S tokens");
  add_number(*command, "--skip", perplexity.skip, 0, 1 << 24, "First scored position of a window");
  add_number(*command, "--windows", perplexity.windows, int64_t{1}, int64_t{1} << 32U,
             "Only the first N windows");
  command->add_option("--bos", options->bos, "replace: BOS in place of each window's first token")
      ->check(CLI::IsMember({"none", "replace"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object on standard output");
  add_runtime_options(*command, options->runtime);
  command->callback([options, &action] {
    action = [options] {
      if (options->perplexity.skip > options->perplexity.window - 2) {
        return report_usage("--skip is at most --window - 2, or nothing is scored");
      }
      const Result<void> done = evaluate(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
}

struct LogitsOptions {
  RuntimeOptions runtime;
  std::string data;
  std::string out;
  bool json = false;
};

Result<void> write_logits(const LogitsOptions& options) {
  Interrupt interrupt;  // before the first thread
  std::error_code absent;
  if (std::filesystem::equivalent(options.data, options.out, absent)) {
    return invalid("--out is the file of ids itself; another name would work", "out");
  }
  O3_ASSIGN(const std::string text, read_data_file(options.data, kMaxDataBytes));
  O3_ASSIGN(const auto lines, eval::read_id_lines(text));
  O3_ASSIGN(const auto backend, make_backend(options.runtime));
  const model::LoadOptions load = load_options(options.runtime);
  O3_ASSIGN(const auto model, loader::load_weights(options.runtime.model, *backend, load));
  std::atomic<bool> stopped{false};
  const auto stopping = interrupt.handle([&stopped] { stopped = true; });
  O3_ASSIGN(const eval::LogitsFileResult result,
            eval::write_logits(*model, *backend, lines, load.compute, options.out,
                               [&stopped] { return !stopped.load(); }));
  if (options.json) {
    const nlohmann::ordered_json told{{"lines", result.lines},
                                      {"rows", result.rows},
                                      {"vocabulary", result.vocabulary},
                                      {"out", options.out}};
    std::printf("%s\n",
                told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::printf("%lld rows of %lld logits, of %lld lines\n", static_cast<long long>(result.rows),
                static_cast<long long>(result.vocabulary), static_cast<long long>(result.lines));
  }
  return {};
}

void add_logits(CLI::App& parent, Action& action) {
  auto options = std::make_shared<LogitsOptions>();
  CLI::App* command =
      parent.add_subcommand("logits", "Logits of every position of token sequences");
  command->add_option("--model", options->runtime.model, kModelHelp)->required();
  command
      ->add_option("--data", options->data, "Lines of JSON lists of token ids; - is standard input")
      ->required();
  command->add_option("--out", options->out, "File to write, float32 [ids, vocabulary] (NumPy)")
      ->required();
  command->add_flag("--json", options->json, "One JSON object on standard output");
  add_runtime_options(*command, options->runtime);
  command->callback([options, &action] {
    action = [options] {
      const Result<void> done = write_logits(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
}

}  // namespace

void add_eval_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("eval", "Quality of a model on data");
  command->require_subcommand(1);
  add_ppl(*command, action);
  add_logits(*command, action);
}

}  // namespace o3::app
