// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/block_format.h"
#include "kernels/cpu/half.h"
#include "kernels/elementwise.h"

namespace o3::kernels {
namespace {

struct Golden {
  DType dtype;
  std::vector<std::byte> block;
  std::vector<float> values;
};

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// tools/golden/dequantize.py wrote the file.
std::vector<Golden> golden_blocks() {
  std::ifstream file(O3_SOURCE_DIR "/tests/golden/kernels/dequantize.txt");
  std::vector<Golden> all;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name;
    std::string block;
    std::string values;
    fields >> name >> block >> values;
    Golden golden{*device::dtype_from_name(name), from_hex(block), {}};
    const std::vector<std::byte> raw = from_hex(values);
    golden.values.resize(raw.size() / sizeof(float));
    std::memcpy(golden.values.data(), raw.data(), raw.size());
    all.push_back(std::move(golden));
  }
  return all;
}

TEST(Dequantize, AgreesWithGgufPyBitForBit) {
  std::map<DType, int> seen;
  for (const Golden& golden : golden_blocks()) {
    const device::DTypeTraits& traits = device::traits(golden.dtype);
    SCOPED_TRACE(std::string(traits.name) + " block " + std::to_string(seen[golden.dtype]++));
    ASSERT_EQ(std::ssize(golden.block), traits.block_bytes);
    ASSERT_EQ(std::ssize(golden.values), traits.block_elements);
    ASSERT_TRUE(can_dequantize(golden.dtype));
    std::vector<float> out(golden.values.size());
    dequantize_row(golden.dtype, golden.block.data(), out.data(), traits.block_elements);
    for (size_t i = 0; i < out.size(); ++i) {
      if (std::isnan(golden.values[i])) {
        ASSERT_TRUE(std::isnan(out[i])) << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(golden.values[i])) << i;
      }
    }
  }
  EXPECT_EQ(seen.size(), 11U);
  for (const auto& [dtype, count] : seen) EXPECT_GE(count, 10) << device::traits(dtype).name;
}

// A row is its blocks one after the other, also where a block is several of 32.
TEST(Dequantize, RowsOfManyBlocks) {
  std::map<DType, Golden> rows;
  for (const Golden& golden : golden_blocks()) {
    Golden& row = rows.try_emplace(golden.dtype, Golden{golden.dtype, {}, {}}).first->second;
    row.block.insert(row.block.end(), golden.block.begin(), golden.block.end());
    row.values.insert(row.values.end(), golden.values.begin(), golden.values.end());
  }
  for (const auto& [dtype, row] : rows) {
    std::vector<float> out(row.values.size());
    dequantize_row(dtype, row.block.data(), out.data(), std::ssize(out));
    for (size_t i = 0; i < out.size(); ++i) {
      if (std::isnan(row.values[i])) continue;
      ASSERT_EQ(out[i], row.values[i]) << i;
    }
  }
}

// Every quantised dtype has a format, whose range of quants fits its bits.
TEST(BlockFormat, EveryQuantisedType) {
  for (int i = 0; i <= static_cast<int>(DType::kIQ4_NL); ++i) {
    const auto dtype = static_cast<DType>(i);
    const BlockFormat* format = block_format(dtype);
    ASSERT_EQ(format != nullptr, device::traits(dtype).quantized) << device::traits(dtype).name;
    if (format == nullptr) continue;
    const std::vector<std::byte> ones(static_cast<size_t>(device::traits(dtype).block_bytes),
                                      std::byte{0xff});
    for (const uint8_t q : read_block(*format, ones.data(), 0).q) {
      EXPECT_EQ(q, dtype == DType::kQ8_0 ? 0x7f : (1 << format->bits) - 1);
    }
  }
}

// Blocks written out by hand from the format's description.
TEST(Dequantize, KnownBlocks) {
  std::vector<std::byte> q4_1(20, std::byte{0xa3});
  const uint16_t d = cpu::float_to_half(0.5F);
  const uint16_t m = cpu::float_to_half(-2.0F);
  std::memcpy(q4_1.data(), &d, 2);
  std::memcpy(q4_1.data() + 2, &m, 2);
  std::vector<float> out(32);
  dequantize_row(DType::kQ4_1, q4_1.data(), out.data(), 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 ? -0.5F : 3.0F);

  std::vector<std::byte> q8_0(34, std::byte{0xff});
  std::memcpy(q8_0.data(), &d, 2);
  q8_0[33] = std::byte{0x80};
  dequantize_row(DType::kQ8_0, q8_0.data(), out.data(), 32);
  EXPECT_EQ(out[0], -0.5F);
  EXPECT_EQ(out[31], -64.0F);

  std::vector<std::byte> q5_0(22, std::byte{0x21});
  std::memcpy(q5_0.data(), &d, 2);
  const uint32_t high = 0x00010002;  // elements 1 and 16
  std::memcpy(q5_0.data() + 2, &high, 4);
  dequantize_row(DType::kQ5_0, q5_0.data(), out.data(), 32);
  EXPECT_EQ(out[0], (1 - 16) * 0.5F);
  EXPECT_EQ(out[1], (17 - 16) * 0.5F);
  EXPECT_EQ(out[16], (18 - 16) * 0.5F);
  EXPECT_EQ(out[17], (2 - 16) * 0.5F);
}

}  // namespace
}  // namespace o3::kernels
