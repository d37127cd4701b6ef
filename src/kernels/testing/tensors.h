// SPDX-License-Identifier: Apache-2.0
// Random tensors, backends of every ISA and the case lists that tests and benchmark share.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/cpu/cpu_backend.h"
#include "kernels/exec.h"

namespace o3::kernels::testing {

using Rng = std::mt19937;

// A matrix that owns its memory; rows may be wider apart than their length. F32 memory starts as
// NaN, so that elements nobody wrote are seen.
class Tensor {
 public:
  Tensor(DType dtype, int64_t rows, int64_t cols, int64_t extra_cols = 0);
  TensorView view() const noexcept { return view_; }
  float& at(int64_t row, int64_t col) { return view_.row<float>(row)[col]; }
  // True when no F32 element beyond the columns of the view was touched.
  bool margin_untouched() const;

 private:
  std::vector<std::byte> data_;
  TensorView view_;
  int64_t extra_;
};

Tensor random_f32(Rng& rng, int64_t rows, int64_t cols, float deviation = 1.0F,
                  int64_t extra_cols = 0);
// Weights of any packed or plain dtype with values around zero, as a model's are.
Tensor random_weights(Rng& rng, DType dtype, int64_t out, int64_t in);

// The same scales d and m, every other byte of the blocks `fill`.
Tensor with_quants(const Tensor& w, std::byte fill);

std::unique_ptr<device::cpu::CpuBackend> make_backend(device::cpu::Isa isa, int threads);

// Scratch for ops, of exactly the asked size (so that ASan sees an overrun).
class Workspace {
 public:
  Workspace(device::Backend& backend, int64_t bytes);
  std::span<std::byte> span() const noexcept { return {buffer_.data(), buffer_.bytes()}; }

 private:
  device::Buffer buffer_;
};

struct LinearCase {
  DType dtype;
  int64_t out;
  int64_t in;
  int64_t rows;
};
std::vector<LinearCase> small_linear_cases();   // odd sizes and every dtype
std::vector<LinearCase> model_linear_cases();   // SmolLM2-135M, decode and prefill
std::vector<LinearCase> format_linear_cases();  // one shape in every quantised type
std::string name_of(const LinearCase& c);

}  // namespace o3::kernels::testing
