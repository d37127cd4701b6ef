// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace o3::device::cpu {

// Instruction sets the kernels are built for, weakest first; each includes those before it.
enum class Isa : uint8_t {
  kGeneric,  // plain C++ (x86-64 baseline)
  kAvx2,     // AVX2 + FMA + F16C
  kAvx512,   // AVX-512 F/BW/DQ/VL + VNNI
  kAmx,      // + AMX INT8 tiles (kernel permission asked for and granted)
};

std::string_view isa_name(Isa isa) noexcept;       // "generic", "avx2", "avx512", "amx"
Result<Isa> isa_from_name(std::string_view name);  // kUnsupported also when the machine lacks it
std::vector<Isa> available_isas();                 // what this machine can run, weakest first
Isa best_isa();                                    // strongest of available_isas()

}  // namespace o3::device::cpu
