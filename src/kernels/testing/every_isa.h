// SPDX-License-Identifier: Apache-2.0
// Parameterises a test over all ISAs; those the machine lacks are reported as skipped.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/testing/tensors.h"

namespace o3::kernels::testing {

class EveryIsa : public ::testing::TestWithParam<device::cpu::Isa> {
 protected:
  void SetUp() override {
    const std::vector<device::cpu::Isa> found = device::cpu::available_isas();
    if (std::find(found.begin(), found.end(), GetParam()) == found.end()) {
      GTEST_SKIP() << "this machine cannot run " << device::cpu::isa_name(GetParam());
    }
    backend_ = make_backend(GetParam(), 2);
  }

  ExecCtx context(const Workspace& workspace, Compute compute = Compute::kFast) {
    return ExecCtx{*backend_, workspace.span(), compute};
  }
  device::cpu::CpuBackend& backend() { return *backend_; }

 private:
  std::unique_ptr<device::cpu::CpuBackend> backend_;
};

inline std::string isa_test_name(const ::testing::TestParamInfo<device::cpu::Isa>& info) {
  return std::string(device::cpu::isa_name(info.param));
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): a suite name cannot be parenthesised
#define O3_FOR_EVERY_ISA(suite)                                                                   \
  INSTANTIATE_TEST_SUITE_P(Isa, suite,                                                            \
                           ::testing::Values(device::cpu::Isa::kGeneric, device::cpu::Isa::kAvx2, \
                                             device::cpu::Isa::kAvx512, device::cpu::Isa::kAmx),  \
                           ::o3::kernels::testing::isa_test_name)

}  // namespace o3::kernels::testing
