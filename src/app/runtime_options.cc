// SPDX-License-Identifier: Apache-2.0
#include "app/runtime_options.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "app/number_option.h"
#include "device/cpu/cpu_backend.h"
#include "device/cpu/isa.h"
#include "device/cuda/create.h"

namespace o3::app {

void add_runtime_options(CLI::App& command, RuntimeOptions& options) {
  command
      .add_option("--device", options.device, "Device that runs the model: cpu, or cuda:0 (1, ...)")
      ->capture_default_str();
  add_number(command, "--threads", options.threads, 1, 1024,
             "CPU threads (default: all this process may use)");
  command.add_option("--isa", options.isa, "Force weaker kernels than the machine's best")
      ->check(CLI::IsMember({"generic", "avx2", "avx512", "amx"}));
  command
      .add_option("--compute", options.compute,
                  "fast: 8-bit activations in matrix products; f32: FP32 throughout")
      ->check(CLI::IsMember({"fast", "f32"}))
      ->capture_default_str();
  command
      .add_option("--kv", options.kv, "Type of the KV cache (default: f16; f32 with --compute f32)")
      ->check(CLI::IsMember({"f16", "f32", "bf16", "fp8"}));
  command
      .add_option("--weights", options.weights,
                  "file: as they are in it; fp8: layers' matrices made E4M3 at load (GPUs)")
      ->check(CLI::IsMember({"file", "fp8"}))
      ->capture_default_str();
}

namespace {

constexpr std::string_view kCuda = "cuda:";

// The number behind "cuda:", or -1.
int cuda_ordinal(std::string_view device) {
  if (!device.starts_with(kCuda)) return -1;
  device.remove_prefix(kCuda.size());
  int ordinal = -1;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), ordinal);
  const bool whole = error == std::errc() && end == device.data() + device.size();
  return whole && ordinal >= 0 ? ordinal : -1;
}

Result<std::unique_ptr<device::Backend>> make_cpu_backend(const RuntimeOptions& options) {
  device::cpu::CpuOptions cpu;
  cpu.threads = options.threads;
  cpu.isa = device::cpu::best_isa();
  if (!options.isa.empty()) {
    O3_ASSIGN(cpu.isa, device::cpu::isa_from_name(options.isa));
  }
  O3_ASSIGN(auto backend, device::cpu::CpuBackend::create(cpu));
  return std::unique_ptr<device::Backend>(std::move(backend));
}

}  // namespace

Result<std::unique_ptr<device::Backend>> make_backend(const RuntimeOptions& options) {
  if (options.device == "cpu") return make_cpu_backend(options);
  const int ordinal = cuda_ordinal(options.device);
  if (ordinal < 0) {
    return invalid(
        "device is cpu, or cuda:0 for the first NVIDIA GPU; not '" + options.device + "'",
        "device");
  }
  return device::cuda::create_backend(ordinal);
}

model::LoadOptions load_options(const RuntimeOptions& options) {
  const bool f32 = options.compute == "f32";
  model::LoadOptions load;
  load.compute = f32 ? kernels::Compute::kF32 : kernels::Compute::kFast;
  const std::string kv = options.kv.empty() ? (f32 ? "f32" : "f16") : options.kv;
  load.kv_dtype = kv == "f32"    ? device::DType::kF32
                  : kv == "bf16" ? device::DType::kBF16
                  : kv == "fp8"  ? device::DType::kF8_E4M3
                                 : device::DType::kF16;
  if (options.weights == "fp8") load.weights = model::WeightStorage::kFp8;
  return load;
}

}  // namespace o3::app
