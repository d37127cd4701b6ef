// SPDX-License-Identifier: Apache-2.0
#include "device/backend.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>

#include "device/cpu/cpu_backend.h"

namespace o3::device {
namespace {

using cpu::CpuBackend;
using cpu::CpuOptions;

std::unique_ptr<CpuBackend> backend(size_t limit = 0) {
  auto made = CpuBackend::create(CpuOptions{.threads = 1, .memory_limit_bytes = limit});
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

TEST(Backend, BytesAreCountedByTagAndComeBack) {
  const auto cpu = backend();
  {
    auto weights = cpu->allocate(1000, MemTag::kWeights);
    auto kv = cpu->allocate(5 << 20, MemTag::kKv);
    ASSERT_TRUE(weights.ok() && kv.ok());
    EXPECT_EQ(cpu->allocated(MemTag::kWeights), 1000U);
    EXPECT_EQ(cpu->allocated(MemTag::kKv), size_t{5} << 20U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(weights->data()) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(kv->data()) % 64, 0U);
    Buffer moved = *std::move(weights);
    EXPECT_EQ(cpu->allocated(MemTag::kWeights), 1000U);
    moved.reset();
    moved.reset();
    EXPECT_EQ(cpu->allocated(MemTag::kWeights), 0U);
  }
  EXPECT_EQ(cpu->allocated(MemTag::kKv), 0U);
}

TEST(Backend, AssignmentFreesWhatWasThere) {
  const auto cpu = backend();
  auto a = cpu->allocate(64, MemTag::kIo);
  auto b = cpu->allocate(128, MemTag::kIo);
  ASSERT_TRUE(a.ok() && b.ok());
  *a = *std::move(b);
  EXPECT_EQ(cpu->allocated(MemTag::kIo), 128U);
}

TEST(Backend, RefusesWhatIsNotThere) {
  const auto cpu = backend(1 << 20);
  auto half = cpu->allocate(700 << 10, MemTag::kKv);
  ASSERT_TRUE(half.ok());
  auto more = cpu->allocate(700 << 10, MemTag::kKv);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, Code::kExhausted);
  EXPECT_EQ(cpu->allocated(MemTag::kKv), size_t{700} << 10U);
  half->reset();
  EXPECT_TRUE(cpu->allocate(700 << 10, MemTag::kKv).ok());
  EXPECT_FALSE(backend()->allocate(SIZE_MAX, MemTag::kKv).ok());
  EXPECT_TRUE(cpu->allocate(0, MemTag::kKv).ok());
}

TEST(Backend, CopyIsBounded) {
  const auto cpu = backend();
  auto buffer = cpu->allocate(8, MemTag::kIo);
  ASSERT_TRUE(buffer.ok());
  const std::array<uint8_t, 8> data{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_TRUE(cpu->copy_from_host(*buffer, 4, data.data(), 4).ok());
  EXPECT_EQ(static_cast<int>(buffer->data()[4]), 1);
  EXPECT_FALSE(cpu->copy_from_host(*buffer, 5, data.data(), 4).ok());
  EXPECT_FALSE(cpu->copy_from_host(*buffer, 9, data.data(), 0).ok());
  EXPECT_FALSE(cpu->copy_from_host(*buffer, 1, data.data(), SIZE_MAX).ok());
}

}  // namespace
}  // namespace o3::device
