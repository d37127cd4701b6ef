// SPDX-License-Identifier: Apache-2.0
// Random weights in the shape of a published model, for measuring speed and memory: what such a
// model says means nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "artifact/output_file.h"
#include "base/result.h"
#include "device/dtype.h"

namespace o3::model {

struct SyntheticShape {
  std::string_view name;  // "llama3-8b"
  int32_t layers;
  int32_t hidden;
  int32_t heads;
  int32_t kv_heads;
  int32_t head_dim;
  int32_t ffn;
  int32_t vocabulary;
  int32_t context;
  float rope_base;
  bool tied;  // the embedding is the head
};

std::span<const SyntheticShape> synthetic_shapes() noexcept;

struct SyntheticTypes {
  device::DType matrices = device::DType::kBF16;  // of the layers
  device::DType head = device::DType::kBF16;      // of embedding and head
};

// A GGUF file without a tokenizer, norms of ones. Different tensors hold different stretches of one
// random block, so writing is as fast as the disk. kInvalid: a name that is not in the table, or a
// type whose blocks do not divide the rows.
Result<void> write_synthetic(std::string_view shape, const SyntheticTypes& types,
                             const std::filesystem::path& path,
                             const artifact::KeepGoing& keep_going = {});

}  // namespace o3::model
