// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/isa.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/cpu/cpu_backend.h"

namespace o3::device::cpu {
namespace {

constexpr Isa kAll[] = {Isa::kGeneric, Isa::kAvx2, Isa::kAvx512, Isa::kAmx};

TEST(Isa, WeakestFirstAndBestLast) {
  const std::vector<Isa> found = available_isas();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), Isa::kGeneric);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_EQ(best_isa(), found.back());
}

TEST(Isa, NamesRoundTripOrSayWhatTheMachineOffers) {
  const std::vector<Isa> found = available_isas();
  for (const Isa isa : kAll) {
    const Result<Isa> parsed = isa_from_name(isa_name(isa));
    if (std::find(found.begin(), found.end(), isa) != found.end()) {
      ASSERT_TRUE(parsed.ok());
      EXPECT_EQ(*parsed, isa);
    } else {
      ASSERT_FALSE(parsed.ok());
      EXPECT_EQ(parsed.error().code, Code::kUnsupported);
    }
  }
  const Result<Isa> wrong = isa_from_name("mmx");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, Code::kInvalid);
  EXPECT_NE(wrong.error().message.find("generic"), std::string::npos);
}

TEST(Isa, BackendTakesWhatTheMachineHas) {
  const std::vector<Isa> found = available_isas();
  for (const Isa isa : kAll) {
    const bool there = std::find(found.begin(), found.end(), isa) != found.end();
    const auto made = CpuBackend::create(CpuOptions{.threads = 1, .isa = isa});
    EXPECT_EQ(made.ok(), there) << isa_name(isa);
    if (there) {
      EXPECT_EQ((*made)->isa(), isa);
    }
  }
}

}  // namespace
}  // namespace o3::device::cpu
