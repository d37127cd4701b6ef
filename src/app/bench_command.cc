// SPDX-License-Identifier: Apache-2.0
// o3 bench: how fast a model runs on this machine.
#include <atomic>
#include <cstdio>
#include <memory>

#include "app/command.h"
#include "app/interrupt.h"
#include "app/loaded_model.h"
#include "app/number_option.h"
#include "app/runtime_options.h"
#include "base/clock.h"
#include "device/cpu/isa.h"
#include "eval/speed.h"

namespace o3::app {
namespace {

struct BenchOptions {
  RuntimeOptions runtime;
  eval::SpeedOptions speed;
  bool deterministic = false;
  bool json = false;
};

void print(const eval::SpeedSetup& setup, const eval::SpeedOptions& options,
           const eval::SpeedResult& result) {
  std::printf("%d threads, %s, batch %d, KV %s\n", setup.threads, setup.isa.c_str(), options.batch,
              setup.kv.c_str());
  std::printf("prefill %5d tokens: %9.1f tokens/s  (%.1f to %.1f)\n", options.prefill,
              result.prefill_tokens_per_s, result.prefill_min, result.prefill_max);
  std::printf("decode  %5d steps:  %9.1f tokens/s  (%.1f to %.1f), reading %.1f GB/s\n",
              options.decode, result.decode_tokens_per_s, result.decode_min, result.decode_max,
              result.read_gb_per_s);
  const eval::SamplingSpeed& sampling = result.sampling;
  std::printf(
      "sampling a row: greedy %.0f us, temperature %.0f us, top-k and top-p %.0f us, "
      "top-p and min-p %.0f us, with penalties and bias %.0f us (copying it: %.0f us)\n",
      sampling.greedy_s * 1e6, sampling.plain_s * 1e6, sampling.truncated_s * 1e6,
      sampling.nucleus_s * 1e6, sampling.edited_s * 1e6, sampling.copy_s * 1e6);
}

Result<void> bench(const BenchOptions& options) {
  Interrupt interrupt;  // before the first thread
  const SystemClock clock;
  O3_ASSIGN(const auto backend, make_backend(options.runtime));
  const model::LoadOptions load = load_options(options.runtime);
  O3_ASSIGN(const LoadedModel loaded, load_model_file(options.runtime.model, *backend, load));
  eval::SpeedOptions speed = options.speed;
  speed.compute = load.compute;
  std::atomic<bool> stopped{false};
  const auto stopping = interrupt.handle([&stopped] { stopped = true; });
  O3_ASSIGN(const eval::SpeedResult result,
            eval::measure_speed(*loaded.model, *backend, clock, speed,
                                [&stopped] { return !stopped.load(); }));
  const eval::SpeedSetup setup{
      .threads = backend->threads().size(),
      .isa = std::string(device::cpu::isa_name(backend->isa())),
      .kv = load.kv_dtype == device::DType::kF32 ? "f32" : "f16",
      .model_bytes = static_cast<int64_t>(loaded.file_bytes),
      .deterministic = options.deterministic,
  };
  if (options.json) {
    std::printf("%s\n", eval::to_json(setup, speed, result).dump().c_str());
  } else {
    print(setup, speed, result);
  }
  return {};
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Measure prefill and decode speed");
  command->add_option("--model", options->runtime.model, kModelHelp)->required();
  eval::SpeedOptions& speed = options->speed;
  add_number(*command, "--prefill", speed.prefill, 1, 1 << 20, "Prompt tokens of each sequence");
  add_number(*command, "--decode", speed.decode, 1, 1 << 20, "Decode steps measured");
  add_number(*command, "--batch", speed.batch, 1, 1024, "Sequences side by side");
  add_number(*command, "--context", speed.context, 1, 1 << 24,
             "Tokens in each cache when decoding starts (default: the prompt)");
  add_number(*command, "--repeats", speed.repeats, 1, 1000, "Repeats that medians are taken over");
  command->add_flag("--deterministic", options->deterministic,
                    "Same bits in any batch (the kernels of this build always are)");
  command->add_flag("--json", options->json, "One JSON object on standard output");
  add_runtime_options(*command, options->runtime);
  command->callback([options, &action] {
    action = [options] {
      const Result<void> done = bench(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
}

}  // namespace o3::app
