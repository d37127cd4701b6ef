// SPDX-License-Identifier: Apache-2.0
// Times the kernels on the shapes of a real model, per ISA:
//   kernel_bench [threads [isa [linear | formats | TYPE]]]
// Rates count what the op must touch: packed weight bytes for products, K and V for attention;
// one multiply-add is two operations. Rates are of the fastest repetition, which other load on the
// machine disturbs least; the median is shown beside it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "kernels/rope.h"
#include "kernels/testing/tensors.h"

namespace o3::kernels {
namespace {

using device::cpu::CpuBackend;
using testing::Rng;
using testing::Tensor;
using testing::Workspace;

constexpr double kSecondsPerCase = 0.3;
constexpr int kLeastRuns = 5;

struct Times {
  double fastest;
  double median;
};

Times time_of(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  run();
  std::vector<double> times;
  const auto start = Clock::now();
  while (std::ssize(times) < kLeastRuns ||
         std::chrono::duration<double>(Clock::now() - start).count() < kSecondsPerCase) {
    const auto begin = Clock::now();
    run();
    times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
  return {*std::min_element(times.begin(), times.end()), times[times.size() / 2]};
}

void print_row(const CpuBackend& backend, const std::string& kernel, const std::string& what,
               const Times& times, double bytes, double operations) {
  const double seconds = times.fastest;
  std::printf("%-8s %-18s %-28s %10.1f us (median %10.1f) %8.1f GB/s %9.1f GOP/s\n",
              std::string(device::cpu::isa_name(backend.isa())).c_str(), kernel.c_str(),
              what.c_str(), seconds * 1e6, times.median * 1e6, bytes / seconds * 1e-9,
              operations / seconds * 1e-9);
  std::fflush(stdout);
}

// As many copies of the matrix as fill 64 MB are used in turn, so that a decode step reads memory.
void bench_linear(CpuBackend& backend, const testing::LinearCase& c, Compute compute) {
  Rng rng(1);
  const Tensor w = testing::random_weights(rng, c.dtype, c.out, c.in);
  const std::array parts{w.view()};
  std::vector<std::unique_ptr<LinearWeights>> copies;
  int64_t total = 0;
  while (total < (int64_t{64} << 20) && copies.size() < 100) {
    auto packed = pack_linear(parts, backend);
    if (!packed.ok()) return;
    total += (*packed)->bytes();
    copies.push_back(*std::move(packed));
  }
  const Tensor x = testing::random_f32(rng, c.rows, c.in);
  const Tensor y(DType::kF32, c.rows, c.out);
  const Workspace workspace(backend, linear_workspace(*copies[0], c.rows, compute));
  ExecCtx ctx{backend, workspace.span(), compute};
  size_t next = 0;
  const Times seconds = time_of([&] {
    linear(*copies[next], x.view(), y.view(), false, ctx);
    next = (next + 1) % copies.size();
  });
  print_row(backend, copies[0]->kernel_name(),
            testing::name_of(c) + (compute == Compute::kF32 ? " f32" : ""), seconds,
            static_cast<double>(copies[0]->bytes()),
            2.0 * static_cast<double>(c.rows * c.in * c.out));
}

// 9 query and 3 KV heads of 64 dimensions (SmolLM2-135M), pages of 32 tokens.
void bench_attention(CpuBackend& backend, int32_t rows, int32_t kv_len) {
  Rng rng(1);
  PagedKv kv{.dtype = DType::kF16, .page_tokens = 32, .kv_heads = 3, .head_dim = 64};
  const int64_t plane = int64_t{2} * kv.kv_heads * kv.page_tokens * kv.head_dim;
  kv.v_offset = plane;
  kv.page_bytes = 2 * plane;
  std::vector<uint32_t> table(static_cast<size_t>((kv_len + 31) / 32));
  std::iota(table.begin(), table.end(), 0U);
  std::vector<std::byte> pool(table.size() * static_cast<size_t>(kv.page_bytes));
  kv.pool = pool.data();
  const AttnDesc desc{.heads = 9, .scale = 0.125F};
  const Tensor k = testing::random_f32(rng, kv_len, 192);
  const Tensor q = testing::random_f32(rng, rows, 576);
  const Tensor out(DType::kF32, rows, 576);
  const Workspace workspace(backend, attention_workspace(desc, kv, rows, backend));
  ExecCtx ctx{backend, workspace.span(), Compute::kFast};
  const std::vector<AttnSequence> all{{0, kv_len, kv_len, table.data()}};
  kv_append(kv, all, k.view(), k.view(), ctx);
  const std::vector<AttnSequence> sequences{{0, rows, kv_len, table.data()}};
  const Times seconds =
      time_of([&] { paged_attention(desc, kv, sequences, q.view(), out.view(), ctx); });
  const double seen = rows * (kv_len - (rows - 1) / 2.0);  // (query, key) pairs per head
  print_row(backend, "attention", "n=" + std::to_string(rows) + " kv=" + std::to_string(kv_len),
            seconds, static_cast<double>(kv_len) * 2 * 2 * 192, seen * 9 * 64 * 4);
  const Times append = time_of([&] { kv_append(kv, sequences, k.view(), k.view(), ctx); });
  print_row(backend, "kv_append", "n=" + std::to_string(rows), append, rows * 192 * 12.0, 0);
}

void bench_rows(CpuBackend& backend, int64_t rows) {
  Rng rng(1);
  ExecCtx ctx{backend, {}, Compute::kFast};
  const std::string n = "n=" + std::to_string(rows);
  const Tensor x = testing::random_f32(rng, rows, 576);
  const Tensor weight = testing::random_f32(rng, 1, 576);
  const Tensor y(DType::kF32, rows, 576);
  const TensorView w = device::vector_view(weight.view().data, DType::kF32, 576);
  const Times norm = time_of([&] { rms_norm(x.view(), w, 1e-5F, y.view(), ctx); });
  print_row(backend, "rms_norm", n + " d=576", norm, static_cast<double>(rows) * 576 * 8, 0);
  const Tensor gate_up = testing::random_f32(rng, rows, 3072);
  const Tensor act(DType::kF32, rows, 1536);
  const Times glu = time_of([&] { swiglu(gate_up.view(), act.view(), ctx); });
  print_row(backend, "swiglu", n + " f=1536", glu, static_cast<double>(rows) * 1536 * 12, 0);
  const RopeTable table = make_rope_table({.dim = 64, .base = 1e5, .max_positions = 2048});
  std::vector<Position> positions;
  positions.reserve(static_cast<size_t>(rows));
  for (int32_t i = 0; i < rows; ++i) positions.push_back({i, i, i});
  const Tensor qk = testing::random_f32(rng, rows, 960);
  const Times turn = time_of([&] { rope(table, positions, qk.view(), 12, 64, ctx); });
  print_row(backend, "rope", n + " heads=12", turn, static_cast<double>(rows) * 768 * 8, 0);
  const Tensor vocabulary = testing::random_weights(rng, DType::kQ8_0, 1000, 576);
  const std::vector<int32_t> ids(static_cast<size_t>(rows), 7);
  const Times lookup = time_of([&] { embed(vocabulary.view(), ids, y.view(), ctx); });
  print_row(backend, "embed", n + " Q8_0", lookup, static_cast<double>(rows) * 576 * 5, 0);
}

void bench(CpuBackend& backend, const std::string& only) {
  const bool one_type = device::dtype_from_name(only).has_value();
  for (const testing::LinearCase& c : testing::format_linear_cases()) {
    const bool chosen = only == device::traits(c.dtype).name;
    if (only == "linear" || (one_type && !chosen)) continue;
    bench_linear(backend, c, Compute::kFast);
    if (only == "formats" || chosen) bench_linear(backend, c, Compute::kF32);
  }
  if (only == "formats" || one_type) return;
  for (const testing::LinearCase& c : testing::model_linear_cases()) {
    bench_linear(backend, c, Compute::kFast);
  }
  bench_linear(backend, {DType::kQ4_1, 3072, 576, 512}, Compute::kF32);
  bench_linear(backend, {DType::kQ4_1, 3072, 576, 1}, Compute::kF32);
  bench_linear(backend, {DType::kQ8_0, 49152, 576, 16}, Compute::kF32);
  bench_linear(backend, {DType::kF16, 3072, 576, 1}, Compute::kFast);
  bench_linear(backend, {DType::kF16, 3072, 576, 512}, Compute::kFast);
  if (only == "linear") return;
  for (const int32_t kv_len : {128, 512, 2048}) bench_attention(backend, 1, kv_len);
  bench_attention(backend, 512, 512);
  bench_attention(backend, 512, 2048);
  for (const int64_t rows : {1, 512}) bench_rows(backend, rows);
}

}  // namespace
}  // namespace o3::kernels

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  const std::string only = argc > 2 ? argv[2] : "";
  for (const auto isa : o3::device::cpu::available_isas()) {
    if (!only.empty() && only != o3::device::cpu::isa_name(isa)) continue;
    const auto backend = o3::kernels::testing::make_backend(isa, threads);
    std::printf("%s\n", backend->description().c_str());
    o3::kernels::bench(*backend, argc > 3 ? argv[3] : "");
  }
  return 0;
}
