// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/isa.h"

#include <array>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace o3::device::cpu {
namespace {

struct IsaName {
  Isa isa;
  std::string_view name;
};
constexpr std::array<IsaName, 4> kNames{{
    {Isa::kGeneric, "generic"},
    {Isa::kAvx2, "avx2"},
    {Isa::kAvx512, "avx512"},
    {Isa::kAmx, "amx"},
}};

#if defined(__x86_64__)
// Bit numbers: Intel SDM vol. 2, CPUID leaves 1 and 7; XCR0 in vol. 1, section 13.3.
struct CpuId {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuId cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuId id;
  if (__get_cpuid_count(leaf, subleaf, &id.eax, &id.ebx, &id.ecx, &id.edx) == 0) return {};
  return id;
}

constexpr bool bits(uint64_t value, std::initializer_list<int> wanted) {
  for (const int bit : wanted) {
    if (((value >> bit) & 1U) == 0) return false;
  }
  return true;
}

// Which register states the operating system saves and restores.
uint64_t enabled_state() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32U) | low;
}

// Linux gives tile registers only to processes that ask (ARCH_REQ_XCOMP_PERM, feature XTILEDATA);
// asking again is harmless. The grant holds for the whole process and its later threads.
bool request_tiles() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXtiledata) == 0;
}

std::vector<Isa> detect() {
  std::vector<Isa> found{Isa::kGeneric};
  const CpuId one = cpuid(1, 0);
  if (!bits(one.ecx, {12, 27, 28, 29})) return found;  // FMA, OSXSAVE, AVX, F16C
  const CpuId seven = cpuid(7, 0);
  const uint64_t state = enabled_state();
  if (!bits(seven.ebx, {5}) || !bits(state, {1, 2})) return found;  // AVX2
  found.push_back(Isa::kAvx2);
  // AVX512F, DQ, BW, VL; VNNI
  if (!bits(seven.ebx, {16, 17, 30, 31}) || !bits(seven.ecx, {11})) return found;
  if (!bits(state, {5, 6, 7})) return found;
  found.push_back(Isa::kAvx512);
  if (!bits(seven.edx, {24, 25}) || !bits(state, {17, 18})) return found;  // AMX-TILE, AMX-INT8
  if (request_tiles()) found.push_back(Isa::kAmx);
  return found;
}
#else
std::vector<Isa> detect() {
  return {Isa::kGeneric};
}
#endif

}  // namespace

std::string_view isa_name(Isa isa) noexcept {
  for (const IsaName& entry : kNames) {
    if (entry.isa == isa) return entry.name;
  }
  return "?";
}

Result<Isa> isa_from_name(std::string_view name) {
  const std::vector<Isa> available = available_isas();
  std::string offer;
  for (const Isa isa : available) {
    if (isa_name(isa) == name) return isa;
    offer += (offer.empty() ? "" : ", ") + std::string(isa_name(isa));
  }
  for (const IsaName& entry : kNames) {
    if (entry.name == name) {
      return unsupported(
          "this machine cannot run isa \"" + std::string(name) + "\"; it offers: " + offer, "isa");
    }
  }
  return invalid("unknown isa \"" + std::string(name) + "\"; this machine offers: " + offer, "isa");
}

std::vector<Isa> available_isas() {
  return detect();
}

Isa best_isa() {
  return detect().back();
}

}  // namespace o3::device::cpu
