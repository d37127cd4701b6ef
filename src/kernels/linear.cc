// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "kernels/cpu/linear_table.h"

namespace o3::kernels {
namespace {

using cpu::LinearKernel;
using cpu::LinearTile;
using cpu::QuantRows;
using device::cpu::CpuBackend;
using device::cpu::ThreadPool;

// Values per thread that make quantising in parallel worth a barrier.
constexpr int64_t kQuantizeGrain = 8192;
// Above kStreamRows a task is one group of outputs times so many rows, whose activations stay in
// the L2 cache.
constexpr int64_t kTaskRows = 256;
static_assert(kTaskRows % cpu::kPanel == 0);

class PackedMatrix final : public LinearWeights {
 public:
  PackedMatrix(LinearKernel kernel, int64_t in, int64_t out, cpu::WeightLayout layout,
               device::Buffer data)
      : kernel_(std::move(kernel)), in_(in), out_(out), layout_(layout), data_(std::move(data)) {}

  int64_t in_features() const noexcept override { return in_; }
  int64_t out_features() const noexcept override { return out_; }
  int64_t bytes() const noexcept override { return static_cast<int64_t>(data_.bytes()); }
  const char* kernel_name() const noexcept override { return kernel_.name.c_str(); }

  const LinearKernel& kernel() const noexcept { return kernel_; }
  int64_t groups() const noexcept { return (out_ + layout_.lanes - 1) / layout_.lanes; }

  // Groups [first, first + count) for all rows.
  LinearTile tile(int64_t first, int64_t count) const noexcept {
    const int64_t begin = first * layout_.lanes;
    LinearTile tile{.layout = layout_};
    tile.weights = reinterpret_cast<const uint8_t*>(data_.data()) + first * layout_.group_bytes;
    tile.groups = count;
    tile.outs = std::min(count * layout_.lanes, out_ - begin);
    tile.in = in_;
    return tile;
  }
  int32_t lanes() const noexcept { return layout_.lanes; }

 private:
  LinearKernel kernel_;
  int64_t in_;
  int64_t out_;
  cpu::WeightLayout layout_;
  device::Buffer data_;
};

// The matrices of this file are the only LinearWeights of CPU backends.
const PackedMatrix& packed(const LinearWeights& w) noexcept {
  return static_cast<const PackedMatrix&>(w);
}

Result<CpuBackend*> cpu_backend(device::Backend& backend) {
  if (backend.kind() != device::BackendKind::kCpu) {
    return unsupported("linear runs on CPU backends only");
  }
  return static_cast<CpuBackend*>(&backend);
}

Result<std::vector<const std::byte*>> collect_rows(std::span<const TensorView> parts) {
  if (parts.empty()) return invalid("no weight matrices to pack");
  std::vector<const std::byte*> rows;
  for (const TensorView& part : parts) {
    if (part.rank != 2 || part.device != -1 || part.data == nullptr) {
      return invalid("weight matrices must have rank 2 and lie in host memory");
    }
    if (part.dtype != parts[0].dtype || part.cols() != parts[0].cols()) {
      return invalid("stacked weight matrices must have one dtype and one input size");
    }
    for (int64_t i = 0; i < part.shape[0]; ++i) rows.push_back(part.row<const std::byte>(i));
  }
  return rows;
}

int32_t panel_height(int64_t rows) noexcept {
  return rows == 1 ? 1 : cpu::kPanel;
}

int64_t panel_bytes(int64_t in, int32_t height) noexcept {
  return in / cpu::kBlock * height * cpu::kQuantBytes;
}

// The panel that holds `row`.
QuantRows panel_of(const QuantRows& quants, int64_t row, int64_t in) noexcept {
  return {quants.data + row / quants.height * panel_bytes(in, quants.height), quants.height};
}

void quantize(const LinearKernel& kernel, TensorView x, const QuantRows& to, ThreadPool& threads) {
  const int64_t in = x.cols();
  const int64_t rows_per_thread = std::max<int64_t>(1, kQuantizeGrain / in);
  threads.parallel_for(x.rows(), rows_per_thread, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      kernel.quantize(x.row<const float>(row), in, panel_of(to, row, in), row % to.height);
    }
  });
}

// One product; shared by the threads that run its tiles.
struct Product {
  const PackedMatrix& w;
  cpu::LinearTileFn run;
  TensorView x;
  TensorView y;
  QuantRows xq;
  bool accumulate;

  void tile(int64_t group, int64_t groups, int64_t row, int64_t rows) const {
    LinearTile tile = w.tile(group, groups);
    tile.rows = rows;
    tile.x = x.row<const float>(row);
    tile.x_stride = x.row_stride / static_cast<int64_t>(sizeof(float));
    if (xq.data != nullptr) tile.xq = panel_of(xq, row, w.in_features());
    tile.y = y.row<float>(row) + group * w.lanes();
    tile.y_stride = y.row_stride / static_cast<int64_t>(sizeof(float));
    tile.accumulate = accumulate;
    run(tile);
  }
};

void run_product(const Product& product, ThreadPool& threads) {
  const int64_t rows = product.x.rows();
  const int64_t groups = product.w.groups();
  if (rows <= cpu::kStreamRows) {
    threads.parallel_for(
        groups, 1, [&](int64_t begin, int64_t end) { product.tile(begin, end - begin, 0, rows); });
    return;
  }
  const int64_t chunks = (rows + kTaskRows - 1) / kTaskRows;
  threads.run(groups * chunks, [&](int64_t task, int) {
    const int64_t row = task / groups * kTaskRows;
    product.tile(task % groups, 1, row, std::min(kTaskRows, rows - row));
  });
}

}  // namespace

Result<std::unique_ptr<LinearWeights>> pack_linear(std::span<const TensorView> parts,
                                                   device::Backend& backend) {
  O3_ASSIGN(CpuBackend * owner, cpu_backend(backend));
  O3_ASSIGN(const std::vector<const std::byte*> rows, collect_rows(parts));
  const DType dtype = parts[0].dtype;
  const int64_t in = parts[0].cols();
  const auto out = static_cast<int64_t>(rows.size());
  O3_ASSIGN(LinearKernel kernel, cpu::select_linear(dtype, in, out, owner->isa()));
  const cpu::WeightLayout layout = cpu::weight_layout(dtype, in, kernel.lanes);
  const int64_t groups = (out + layout.lanes - 1) / layout.lanes;
  O3_ASSIGN(device::Buffer data, backend.allocate(static_cast<size_t>(groups * layout.group_bytes),
                                                  device::MemTag::kWeights));
  std::byte* to = data.data();
  owner->threads().parallel_for(groups, 1, [&](int64_t begin, int64_t end) {
    cpu::pack_groups(dtype, in, layout, kernel.bytes, rows, begin, end - begin,
                     to + begin * layout.group_bytes);
  });
  return std::unique_ptr<LinearWeights>(
      std::make_unique<PackedMatrix>(std::move(kernel), in, out, layout, std::move(data)));
}

void linear(const LinearWeights& w, TensorView x, TensorView y, bool accumulate, ExecCtx& ctx) {
  const PackedMatrix& matrix = packed(w);
  const int64_t rows = x.rows();
  O3_CHECK(x.dtype == DType::kF32 && x.cols() == w.in_features(), "linear: x is F32 [n, in]");
  O3_CHECK(y.dtype == DType::kF32 && y.cols() == w.out_features(), "linear: y is F32 [n, out]");
  O3_CHECK(y.rows() == rows, "linear: x and y differ in rows");
  if (rows == 0) return;
  ThreadPool& threads = static_cast<CpuBackend&>(ctx.backend).threads();
  const LinearKernel& kernel = matrix.kernel();
  const bool fast = ctx.compute == Compute::kFast && kernel.few != nullptr;
  const cpu::LinearTileFn integer = rows <= cpu::kStreamRows ? kernel.few : kernel.many;
  Product product{matrix, fast ? integer : kernel.f32, x, y, {}, accumulate};
  if (fast) {
    O3_CHECK(static_cast<int64_t>(ctx.workspace.size()) >= linear_workspace(w, rows, ctx.compute),
             "linear: workspace too small");
    product.xq = {reinterpret_cast<uint8_t*>(ctx.workspace.data()), panel_height(rows)};
    quantize(kernel, x, product.xq, threads);
  }
  run_product(product, threads);
}

int64_t linear_workspace(const LinearWeights& w, int64_t rows, Compute compute) {
  const LinearSize size{.in = w.in_features(),
                        .weight_bytes = w.bytes(),
                        .quantizes = packed(w).kernel().few != nullptr};
  return size.workspace(rows, compute);
}

int64_t LinearSize::workspace(int64_t rows, Compute compute) const {
  if (compute != Compute::kFast || !quantizes) return 0;
  const int32_t height = panel_height(rows);
  return (rows + height - 1) / height * panel_bytes(in, height);
}

Result<LinearSize> linear_size(DType dtype, int64_t in, int64_t out, device::Backend& backend) {
  O3_ASSIGN(const CpuBackend* owner, cpu_backend(backend));
  O3_ASSIGN(const LinearKernel kernel, cpu::select_linear(dtype, in, out, owner->isa()));
  const cpu::WeightLayout layout = cpu::weight_layout(dtype, in, kernel.lanes);
  return LinearSize{.in = in,
                    .weight_bytes = (out + layout.lanes - 1) / layout.lanes * layout.group_bytes,
                    .quantizes = kernel.few != nullptr};
}

}  // namespace o3::kernels
