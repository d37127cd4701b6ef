// SPDX-License-Identifier: Apache-2.0
#include "app/runtime_options.h"

#include "app/number_option.h"
#include "device/cpu/isa.h"

namespace o3::app {

void add_runtime_options(CLI::App& command, RuntimeOptions& options) {
  command.add_option("--device", options.device, "Device that runs the model")
      ->check(CLI::IsMember({"cpu"}))
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
      ->check(CLI::IsMember({"f16", "f32"}));
}

Result<std::unique_ptr<device::cpu::CpuBackend>> make_backend(const RuntimeOptions& options) {
  if (options.device != "cpu") {
    return unsupported("this build runs models on cpu only, not on '" + options.device + "'",
                       "device");
  }
  device::cpu::CpuOptions cpu;
  cpu.threads = options.threads;
  cpu.isa = device::cpu::best_isa();
  if (!options.isa.empty()) {
    O3_ASSIGN(cpu.isa, device::cpu::isa_from_name(options.isa));
  }
  return device::cpu::CpuBackend::create(cpu);
}

model::LoadOptions load_options(const RuntimeOptions& options) {
  const bool f32 = options.compute == "f32";
  model::LoadOptions load;
  load.compute = f32 ? kernels::Compute::kF32 : kernels::Compute::kFast;
  const bool kv_f32 = options.kv.empty() ? f32 : options.kv == "f32";
  load.kv_dtype = kv_f32 ? device::DType::kF32 : device::DType::kF16;
  return load;
}

}  // namespace o3::app
