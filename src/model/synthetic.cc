// SPDX-License-Identifier: Apache-2.0
#include "model/synthetic.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "artifact/gguf/gguf_writer.h"

namespace o3::model {
namespace {

using device::DType;

constexpr SyntheticShape kShapes[] = {
    {"llama3-8b", 32, 4096, 32, 8, 128, 14336, 128256, 32768, 500000.0F, false},
    {"llama3.2-1b", 16, 2048, 32, 8, 64, 8192, 128256, 32768, 500000.0F, true},
    {"smollm2-135m", 30, 576, 9, 3, 64, 1536, 49152, 8192, 100000.0F, true},
    {"tiny", 2, 64, 4, 2, 16, 96, 320, 256, 10000.0F, false},
    {"small", 3, 704, 6, 2, 128, 1040, 500, 1024, 10000.0F, true},
};

// splitmix64 (Steele et al. 2014).
class Random {
 public:
  uint64_t next() noexcept {
    uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
  }

 private:
  uint64_t state_ = 1;
};

// Numbers between 2^-8 and 2^-4 in size, of either sign: random in every mantissa bit.
uint16_t random_16(DType dtype, uint64_t random) noexcept {
  const auto sign = static_cast<uint16_t>(random << 15U);
  if (dtype == DType::kBF16) {
    const auto exponent = static_cast<uint16_t>((119 + (random >> 1U) % 4) << 7U);
    return static_cast<uint16_t>(sign | exponent | ((random >> 3U) & 0x7fU));
  }
  const auto exponent = static_cast<uint16_t>((7 + (random >> 1U) % 4) << 10U);
  return static_cast<uint16_t>(sign | exponent | ((random >> 3U) & 0x3ffU));
}

void fill_plain(DType dtype, std::vector<std::byte>& block) {
  Random random;
  for (size_t at = 0; at + 8 <= block.size(); at += 8) {
    const uint64_t bits = random.next();
    std::array<uint16_t, 4> values{};
    for (size_t i = 0; i < values.size(); ++i) {
      values.at(i) = random_16(dtype, bits >> (16 * i));
    }
    std::memcpy(block.data() + at, values.data(), sizeof values);
  }
}

// Random quants; scales of 2^-9 to 2^-8 where the type's blocks have them.
void fill_blocks(DType dtype, std::vector<std::byte>& block) {
  Random random;
  for (size_t at = 0; at + 8 <= block.size(); at += 8) {
    const uint64_t bits = random.next();
    std::memcpy(block.data() + at, &bits, sizeof bits);
  }
  const auto bytes = static_cast<size_t>(device::traits(dtype).block_bytes);
  for (size_t at = 0; at + bytes <= block.size(); at += bytes) {
    const auto scale = static_cast<uint16_t>(0x1800U | (random.next() & 0x3ffU));
    std::memcpy(block.data() + at, &scale, sizeof scale);
  }
}

bool is_known(DType dtype) noexcept {
  return dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kQ4_0 ||
         dtype == DType::kQ8_0;
}

class Writer {
 public:
  Writer(const SyntheticShape& shape, const SyntheticTypes& types) : shape_(shape), types_(types) {}

  Result<void> write(const std::filesystem::path& path, const artifact::KeepGoing& keep_going) {
    for (const DType dtype : {types_.matrices, types_.head}) {
      if (is_known(dtype)) continue;
      return unsupported("no random weights of type " + std::string(device::traits(dtype).name) +
                             "; bf16, f16, q4_0 and q8_0 would work",
                         "dtype");
    }
    metadata();
    O3_TRY(tensors());
    return writer_.write(path, artifact::Overwrite::kYes, keep_going);
  }

 private:
  void metadata() {
    const auto integer = [this](std::string_view key, int32_t value) {
      writer_.add_scalar("llama." + std::string(key), static_cast<uint32_t>(value));
    };
    writer_.add("general.architecture", "llama");
    writer_.add("general.name", "random " + std::string(shape_.name));
    integer("block_count", shape_.layers);
    integer("embedding_length", shape_.hidden);
    integer("feed_forward_length", shape_.ffn);
    integer("context_length", shape_.context);
    integer("attention.head_count", shape_.heads);
    integer("attention.head_count_kv", shape_.kv_heads);
    integer("attention.key_length", shape_.head_dim);
    integer("attention.value_length", shape_.head_dim);
    integer("rope.dimension_count", shape_.head_dim);
    integer("vocab_size", shape_.vocabulary);
    writer_.add_scalar("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    writer_.add_scalar("llama.rope.freq_base", shape_.rope_base);
  }

  Result<void> tensors() {
    ones_.assign(static_cast<size_t>(shape_.hidden), 1.0F);
    O3_TRY(matrix("token_embd.weight", types_.head, shape_.vocabulary, shape_.hidden));
    const int32_t q = shape_.heads * shape_.head_dim;
    const int32_t kv = shape_.kv_heads * shape_.head_dim;
    for (int32_t layer = 0; layer < shape_.layers; ++layer) {
      const std::string prefix = "blk." + std::to_string(layer) + ".";
      const DType dtype = types_.matrices;
      norm(prefix + "attn_norm.weight");
      O3_TRY(matrix(prefix + "attn_q.weight", dtype, q, shape_.hidden));
      O3_TRY(matrix(prefix + "attn_k.weight", dtype, kv, shape_.hidden));
      O3_TRY(matrix(prefix + "attn_v.weight", dtype, kv, shape_.hidden));
      O3_TRY(matrix(prefix + "attn_output.weight", dtype, shape_.hidden, q));
      norm(prefix + "ffn_norm.weight");
      O3_TRY(matrix(prefix + "ffn_gate.weight", dtype, shape_.ffn, shape_.hidden));
      O3_TRY(matrix(prefix + "ffn_up.weight", dtype, shape_.ffn, shape_.hidden));
      O3_TRY(matrix(prefix + "ffn_down.weight", dtype, shape_.hidden, shape_.ffn));
    }
    norm("output_norm.weight");
    if (shape_.tied) return {};
    return matrix("output.weight", types_.head, shape_.vocabulary, shape_.hidden);
  }

  void norm(const std::string& name) {
    const int64_t extent = shape_.hidden;
    writer_.add_tensor(name, DType::kF32, {&extent, 1}, std::as_bytes(std::span(ones_)));
  }

  Result<void> matrix(const std::string& name, DType dtype, int64_t rows, int64_t cols) {
    const device::DTypeTraits& type = device::traits(dtype);
    if (cols % type.block_elements != 0) {
      return invalid(name + " has rows of " + std::to_string(cols) + ", no multiple of " +
                         std::to_string(type.block_elements) + " as " + std::string(type.name) +
                         " needs",
                     "dtype");
    }
    const auto bytes = static_cast<size_t>(rows * device::row_bytes(dtype, cols));
    const std::array<int64_t, 2> shape{rows, cols};
    writer_.add_tensor(name, dtype, shape, stretch(dtype, bytes));
    return {};
  }

  // Another stretch of the type's random block each time.
  std::span<const std::byte> stretch(DType dtype, size_t bytes) {
    std::vector<std::byte>& block = dtype == types_.head ? head_block_ : matrix_block_;
    if (block.empty()) {
      const int64_t in_layer =
          std::max({shape_.ffn, shape_.hidden, shape_.heads * shape_.head_dim});
      const int64_t rows =
          dtype == types_.head ? std::max<int64_t>(shape_.vocabulary, in_layer) : in_layer;
      const int64_t most = std::max(rows * device::row_bytes(dtype, shape_.hidden),
                                    int64_t{shape_.hidden} * device::row_bytes(dtype, shape_.ffn));
      block.resize(static_cast<size_t>(most) + kSlack);
      const bool plain = !device::traits(dtype).quantized;
      plain ? fill_plain(dtype, block) : fill_blocks(dtype, block);
    }
    const auto unit = static_cast<size_t>(device::traits(dtype).block_bytes);
    const size_t places = (block.size() - bytes) / unit;
    return std::span(block).subspan(random_.next() % (places + 1) * unit, bytes);
  }

  static constexpr size_t kSlack = size_t{1} << 20;

  const SyntheticShape& shape_;
  SyntheticTypes types_;
  artifact::GgufWriter writer_;
  std::vector<float> ones_;
  std::vector<std::byte> head_block_;
  std::vector<std::byte> matrix_block_;
  Random random_;
};

}  // namespace

std::span<const SyntheticShape> synthetic_shapes() noexcept {
  return kShapes;
}

Result<void> write_synthetic(std::string_view shape, const SyntheticTypes& types,
                             const std::filesystem::path& path,
                             const artifact::KeepGoing& keep_going) {
  std::string known;
  for (const SyntheticShape& row : kShapes) {
    if (row.name == shape) return Writer(row, types).write(path, keep_going);
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return invalid("there is no shape \"" + std::string(shape) + "\"; these are known: " + known,
                 "shape");
}

}  // namespace o3::model
