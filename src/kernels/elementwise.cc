// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <algorithm>

#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "kernels/cpu/tables.h"

namespace o3::kernels {
namespace {

using device::cpu::CpuBackend;

constexpr int64_t kGrain = 8192;  // values per thread that make a parallel run worth its barrier

CpuBackend& cpu_of(ExecCtx& ctx) {
  return static_cast<CpuBackend&>(ctx.backend);
}

// work(row) for all rows, over the threads when there is enough to do.
template <class Work>
void for_rows(int64_t rows, int64_t cols, ExecCtx& ctx, const Work& work) {
  const int64_t grain = std::max<int64_t>(1, kGrain / cols);
  cpu_of(ctx).threads().parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) work(row);
  });
}

}  // namespace

void rms_norm(TensorView x, TensorView weight, float eps, TensorView out, ExecCtx& ctx) {
  const int64_t d = x.cols();
  O3_CHECK(x.dtype == DType::kF32 && weight.dtype == DType::kF32 && out.dtype == DType::kF32,
           "rms_norm: F32 only");
  O3_CHECK(weight.cols() == d && out.cols() == d && out.rows() == x.rows(), "rms_norm: shapes");
  const auto norm = cpu::select_row_ops(cpu_of(ctx).isa()).rms_norm;
  const auto* w = weight.row<const float>(0);
  for_rows(x.rows(), d, ctx,
           [&](int64_t row) { norm(x.row<const float>(row), w, eps, out.row<float>(row), d); });
}

void swiglu(TensorView gate_up, TensorView out, ExecCtx& ctx) {
  const int64_t f = out.cols();
  O3_CHECK(gate_up.dtype == DType::kF32 && out.dtype == DType::kF32, "swiglu: F32 only");
  O3_CHECK(gate_up.cols() == 2 * f && gate_up.rows() == out.rows(), "swiglu: shapes");
  const auto run = cpu::select_row_ops(cpu_of(ctx).isa()).swiglu;
  for_rows(out.rows(), 2 * f, ctx, [&](int64_t row) {
    const auto* gate = gate_up.row<const float>(row);
    run(gate, gate + f, out.row<float>(row), f);
  });
}

void geglu(TensorView gate_up, TensorView out, ExecCtx& ctx) {
  const int64_t f = out.cols();
  O3_CHECK(gate_up.dtype == DType::kF32 && out.dtype == DType::kF32, "geglu: F32 only");
  O3_CHECK(gate_up.cols() == 2 * f && gate_up.rows() == out.rows(), "geglu: shapes");
  const auto run = cpu::select_row_ops(cpu_of(ctx).isa()).geglu;
  for_rows(out.rows(), 2 * f, ctx, [&](int64_t row) {
    const auto* gate = gate_up.row<const float>(row);
    run(gate, gate + f, out.row<float>(row), f);
  });
}

void rms_norm_heads(TensorView x, int32_t heads, TensorView weight, float eps, ExecCtx& ctx) {
  const int64_t d = weight.cols();
  O3_CHECK(x.dtype == DType::kF32 && weight.dtype == DType::kF32, "rms_norm_heads: F32 only");
  O3_CHECK(x.cols() >= heads * d, "rms_norm_heads: x is narrower than its heads");
  const auto norm = cpu::select_row_ops(cpu_of(ctx).isa()).rms_norm;
  const auto* w = weight.row<const float>(0);
  for_rows(x.rows(), heads * d, ctx, [&](int64_t row) {
    for (int32_t head = 0; head < heads; ++head) {
      float* at = x.row<float>(row) + head * d;
      norm(at, w, eps, at, d);
    }
  });
}

// The next three are single passes at the speed of memory, the same code for every ISA.
void add(TensorView x, TensorView y, ExecCtx& ctx) {
  const int64_t d = y.cols();
  O3_CHECK(x.dtype == DType::kF32 && y.dtype == DType::kF32, "add: F32 only");
  O3_CHECK(x.cols() == d && x.rows() == y.rows(), "add: shapes");
  for_rows(y.rows(), d, ctx, [&](int64_t row) {
    const auto* from = x.row<const float>(row);
    auto* to = y.row<float>(row);
    for (int64_t i = 0; i < d; ++i) to[i] += from[i];
  });
}

void add_bias(TensorView bias, TensorView y, ExecCtx& ctx) {
  const int64_t d = y.cols();
  O3_CHECK(bias.dtype == DType::kF32 && y.dtype == DType::kF32, "add_bias: F32 only");
  O3_CHECK(bias.cols() == d, "add_bias: shapes");
  const auto* from = bias.row<const float>(0);
  for_rows(y.rows(), d, ctx, [&](int64_t row) {
    auto* to = y.row<float>(row);
    for (int64_t i = 0; i < d; ++i) to[i] += from[i];
  });
}

void scale(float factor, TensorView x, ExecCtx& ctx) {
  const int64_t d = x.cols();
  O3_CHECK(x.dtype == DType::kF32, "scale: F32 only");
  for_rows(x.rows(), d, ctx, [&](int64_t row) {
    auto* to = x.row<float>(row);
    for (int64_t i = 0; i < d; ++i) to[i] *= factor;
  });
}

void softcap(float cap, TensorView x, ExecCtx& ctx) {
  const int64_t d = x.cols();
  O3_CHECK(x.dtype == DType::kF32 && cap > 0, "softcap: F32 and a positive cap");
  const auto run = cpu::select_row_ops(cpu_of(ctx).isa()).softcap;
  for_rows(x.rows(), d, ctx, [&](int64_t row) { run(cap, x.row<float>(row), d); });
}

void embed(TensorView table, std::span<const int32_t> ids, TensorView out, ExecCtx& ctx) {
  const int64_t d = table.cols();
  O3_CHECK(out.dtype == DType::kF32 && out.cols() == d && out.rows() == std::ssize(ids),
           "embed: out is F32 [n, d]");
  O3_CHECK(can_dequantize(table.dtype), "embed: dtype of the table");
  for_rows(out.rows(), d, ctx, [&](int64_t row) {
    const int32_t id = ids[static_cast<size_t>(row)];
    O3_CHECK(id >= 0 && id < table.shape[0], "embed: ids are checked at admission");
    dequantize_row(table.dtype, table.row<const std::byte>(id), out.row<float>(row), d);
  });
}

}  // namespace o3::kernels
