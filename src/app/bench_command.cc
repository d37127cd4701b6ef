// SPDX-License-Identifier: Apache-2.0
// o3 bench: how fast a model runs on this machine.
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "app/command.h"
#include "app/interrupt.h"
#include "app/number_option.h"
#include "app/runtime_options.h"
#include "base/clock.h"
#include "device/cpu/cpu_backend.h"
#include "eval/speed.h"
#include "loader/loaded_model.h"

namespace o3::app {
namespace {

constexpr int32_t kCudaStepRows = 8192;  // a GPU is busy with many rows only

struct BenchOptions {
  RuntimeOptions runtime;
  eval::SpeedOptions speed;
  bool deterministic = false;
  bool json = false;
};

// Nothing of a GPU.
struct CpuFacts {
  int threads = 0;
  std::string isa;
};
CpuFacts cpu_facts(device::Backend& backend) {
  if (backend.kind() != device::BackendKind::kCpu) return {};
  auto& cpu = static_cast<device::cpu::CpuBackend&>(backend);
  return {cpu.threads().size(), std::string(device::cpu::isa_name(cpu.isa()))};
}

// Of a GGUF file, or of all files of a directory; 0 when they cannot be asked.
int64_t weight_file_bytes(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    const auto bytes = std::filesystem::file_size(path, error);
    return error ? 0 : static_cast<int64_t>(bytes);
  }
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto own = entry.file_size(error);
    if (!error) bytes += static_cast<int64_t>(own);
  }
  return bytes;
}

std::string kv_name(device::DType dtype) {
  switch (dtype) {
    case device::DType::kF32:
      return "f32";
    case device::DType::kBF16:
      return "bf16";
    case device::DType::kF8_E4M3:
      return "fp8";
    default:
      return "f16";
  }
}

void print(const eval::SpeedSetup& setup, const eval::SpeedOptions& options,
           const eval::SpeedResult& result) {
  std::printf("%s, batch %d, KV %s\n", setup.device.c_str(), options.batch, setup.kv.c_str());
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
  O3_ASSIGN(const auto model, loader::load_weights(options.runtime.model, *backend, load));
  eval::SpeedOptions speed = options.speed;
  speed.compute = load.compute;
  if (backend->kind() == device::BackendKind::kCuda) speed.step_rows = kCudaStepRows;
  std::atomic<bool> stopped{false};
  const auto stopping = interrupt.handle([&stopped] { stopped = true; });
  O3_ASSIGN(
      const eval::SpeedResult result,
      eval::measure_speed(*model, *backend, clock, speed, [&stopped] { return !stopped.load(); }));
  const CpuFacts cpu = cpu_facts(*backend);
  const eval::SpeedSetup setup{
      .device = backend->description(),
      .threads = cpu.threads,
      .isa = cpu.isa,
      .kv = kv_name(load.kv_dtype),
      .model_bytes = weight_file_bytes(options.runtime.model),
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
