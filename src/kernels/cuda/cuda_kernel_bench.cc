// SPDX-License-Identifier: Apache-2.0
// cuda_kernel_bench [ceilings]: ceilings of this GPU, and each kernel of a decode step of the
// Llama-3-8B shape beside them. Medians; replayed from graphs; every layer has weights of its own,
// so that nothing stays in the cache.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/graph.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/ceilings.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/skinny.h"
#include "kernels/cuda/step_writer.h"

namespace o3::kernels::cuda {
namespace {

using device::cuda::CudaBackend;

constexpr int kLayers = 32;
constexpr int32_t kHidden = 4096;
constexpr int32_t kFfn = 14336;
constexpr int32_t kHeads = 32;
constexpr int32_t kKvHeads = 8;
constexpr int32_t kHeadDim = 128;
constexpr int32_t kVocabulary = 128256;
constexpr int32_t kQkv = (kHeads + 2 * kKvHeads) * kHeadDim;

template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  return *std::move(result);
}
void must(Result<void> result) {
  if (result.ok()) return;
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

class Bench {
 public:
  explicit Bench(CudaBackend& gpu) : gpu_(gpu), gemm_(must(Gemm::create(gpu))) {}

  std::byte* reserve(int64_t bytes) {
    buffers_.push_back(must(gpu_.allocate(static_cast<size_t>(bytes), device::MemTag::kWorkspace)));
    return buffers_.back().data();
  }
  std::byte* random(int64_t words) {
    std::byte* to = reserve(2 * words);
    fill_random(gpu_.stream(), to, words, true, 0.05F, ++seed_);
    return to;
  }
  // Median milliseconds of one replay.
  double time(const std::function<void()>& enqueue, int repeats = 15) {
    const auto graph = must(device::cuda::Graph::capture(gpu_, [&]() -> Result<void> {
      enqueue();
      return gpu_.check_launches();
    }));
    auto start = must(device::cuda::Event::create(gpu_));
    auto end = must(device::cuda::Event::create(gpu_));
    std::vector<double> times;
    for (int i = 0; i < repeats + 3; ++i) {
      must(start.record());
      must(graph.launch());
      must(end.record());
      must(end.wait());
      if (i >= 3) times.push_back(must(end.milliseconds_since(start)));
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
  void row(const char* what, double ms, double bytes) {
    std::printf("%-44s %9.4f ms %8.1f GB/s\n", what, ms, bytes / ms / 1e6);
    std::fflush(stdout);
  }
  void ceilings();
  void products();
  void decode(int32_t rows, int32_t context);
  void prefill(int32_t rows);

  CudaBackend& gpu_;
  std::unique_ptr<Gemm> gemm_;
  std::vector<device::Buffer> buffers_;
  uint32_t seed_ = 0;
  std::byte* qkv_ = nullptr;
  std::byte* out_ = nullptr;
  std::byte* up_ = nullptr;
  std::byte* down_ = nullptr;
  std::byte* head_ = nullptr;
};

void Bench::ceilings() {
  constexpr int64_t kBytes = int64_t{16} << 30;
  {
    std::byte* from = random(kBytes / 2);
    auto* sink = reinterpret_cast<uint32_t*>(reserve(64));
    row("read 16 GiB", time([&] { read_all(from, kBytes, sink, gpu_.stream()); }, 5),
        double{kBytes});
    constexpr int64_t kHalf = kBytes / 2;
    row("copy 8 GiB (read + write)",
        time([&] { must(gpu_.enqueue_copy(from, from + kHalf, kHalf)); }, 5), double{kBytes});
    buffers_.clear();
  }
  constexpr int32_t kSize = 8192;
  GemmArgs gemm;
  gemm.x = random(int64_t{kSize} * kSize);
  gemm.w = random(int64_t{kSize} * kSize);
  gemm.y = reserve(int64_t{kSize} * kSize * 2);
  gemm.y_dtype = DType::kBF16;
  gemm.rows = gemm.n = gemm.k = kSize;
  must(gemm_->run(gemm));
  const double ms = time([&] { must(gemm_->run(gemm)); });
  std::printf("BF16 product 8192^3: %.3f ms, %.1f TFLOP/s\n", ms,
              2.0 * kSize * kSize * kSize / ms / 1e9);
  buffers_.clear();
}

void Bench::products() {
  qkv_ = random(int64_t{kLayers} * kQkv * kHidden);
  out_ = random(int64_t{kLayers} * kHidden * kHidden);
  up_ = random(int64_t{kLayers} * 2 * kFfn * kHidden);
  down_ = random(int64_t{kLayers} * kHidden * kFfn);
  head_ = random(int64_t{kVocabulary} * kHidden);
  const std::byte* x = random(int64_t{16} * kFfn);
  auto* sums = reinterpret_cast<float*>(reserve(int64_t{4} * 16 * kVocabulary * 4));
  std::byte* gated = reserve(int64_t{16} * kFfn * 2);
  struct Product {
    const char* name;
    const std::byte* w;
    int32_t n;
    int32_t k;
    Gate gate;
    int times;
  };
  const Product all[] = {{"qkv", qkv_, kQkv, kHidden, Gate::kNone, kLayers},
                         {"out", out_, kHidden, kHidden, Gate::kNone, kLayers},
                         {"gate/up", up_, 2 * kFfn, kHidden, Gate::kSilu, kLayers},
                         {"down", down_, kHidden, kFfn, Gate::kNone, kLayers},
                         {"head", head_, kVocabulary, kHidden, Gate::kNone, 1}};
  const auto run = [&](const Product& p, int layer, int32_t rows) {
    SkinnyArgs args;
    args.w = p.w + int64_t{layer} * p.n * p.k * 2;
    args.x = x;
    args.n = p.n;
    args.k = p.k;
    args.rows = rows;
    args.sums = sums;
    args.gate = p.gate;
    args.gated = gated;
    skinny(args, gpu_.stream());
  };
  for (const int32_t rows : {1, 8, 16}) {
    for (const Product& p : all) {
      const double ms = time([&] {
        for (int layer = 0; layer < p.times; ++layer) run(p, layer, rows);
      });
      char name[64];
      std::snprintf(name, sizeof name, "skinny %s, %d rows, one launch of %d", p.name, rows,
                    p.times);
      row(name, ms / p.times, 2.0 * p.n * p.k);
    }
  }
  // E4M3 in the same memory.
  auto* scales = reinterpret_cast<float*>(reserve(int64_t{kVocabulary} * 4));
  must(gpu_.enqueue_zero(reinterpret_cast<std::byte*>(scales), kVocabulary * 4));
  for (const int32_t rows : {1, 8, 16}) {
    for (const Product& p : all) {
      const double ms = time([&] {
        for (int layer = 0; layer < p.times; ++layer) {
          SkinnyArgs args;
          args.dtype = DType::kF8_E4M3;
          args.w = p.w + int64_t{layer} * p.n * p.k;
          args.scales = scales;
          args.x = x;
          args.n = p.n;
          args.k = p.k;
          args.rows = rows;
          args.sums = sums;
          args.gate = p.gate;
          args.gated = gated;
          skinny(args, gpu_.stream());
        }
      });
      char name[64];
      std::snprintf(name, sizeof name, "E4M3 skinny %s, %d rows", p.name, rows);
      row(name, ms / p.times, 1.0 * p.n * p.k);
    }
  }
  // The library on the same.
  for (const int32_t rows : {1, 8, 16, 32, 64}) {
    double total = 0;
    for (const Product& p : all) {
      const auto call = [&](int layer) {
        GemmArgs gemm;
        gemm.w = p.w + int64_t{layer} * p.n * p.k * 2;
        gemm.x = x;
        gemm.y = sums;
        gemm.rows = rows > 16 ? rows : rows;
        gemm.n = p.n;
        gemm.k = p.k;
        must(gemm_->run(gemm));
      };
      call(0);
      const double ms = time([&] {
        for (int layer = 0; layer < p.times; ++layer) call(layer);
      });
      total += ms;
    }
    row(("cuBLASLt, all products, " + std::to_string(rows) + " rows").c_str(), total, 15.01e9);
  }
}

// A whole decode step as the model runs it, but for embedding and RoPE tables' values.
void Bench::decode(int32_t rows, int32_t context) {
  constexpr int32_t kPage = 32;
  const size_t kept = buffers_.size();
  const int32_t pages_each = (context + kPage - 1) / kPage;
  const int64_t plane = int64_t{kKvHeads} * kPage * kHeadDim * 2;
  const int64_t page_bytes = 2 * kLayers * plane;
  PagedKv kv{.pool = random(page_bytes * pages_each * rows / 2),
             .page_bytes = page_bytes,
             .dtype = DType::kBF16,
             .page_tokens = kPage,
             .kv_heads = kKvHeads,
             .head_dim = kHeadDim};
  std::vector<std::vector<uint32_t>> tables;
  std::vector<AttnSequence> sequences;
  uint32_t next = 0;
  for (int32_t s = 0; s < rows; ++s) {
    auto& table = tables.emplace_back();
    for (int32_t p = 0; p < pages_each; ++p) table.push_back(next++);
  }
  for (int32_t s = 0; s < rows; ++s) {
    sequences.push_back({s, 1, context, tables[static_cast<size_t>(s)].data()});
  }
  const GroupShape group{kPage, 0};
  const StepCounts counts = StepWriter::count(sequences, group);
  const StepWriter writer({rows, rows, counts.splits, 0, counts.table_entries});
  std::vector<std::byte> host(static_cast<size_t>(writer.bytes()));
  writer.write(sequences, rows, group, host.data());
  std::byte* step = reserve(writer.bytes());
  must(gpu_.enqueue_copy(step, host.data(), host.size()));
  const KvStep view = writer.view(step, counts.decode, 0);

  auto* residual = reinterpret_cast<float*>(reserve(int64_t{rows} * kHidden * 4));
  auto* sums = reinterpret_cast<float*>(reserve(int64_t{4} * rows * kVocabulary * 4));
  std::byte* x = random(int64_t{rows} * kFfn);
  std::byte* q = random(int64_t{rows} * kHidden);
  auto* weight = reinterpret_cast<float*>(reserve(kHidden * 4));
  auto* cos = reinterpret_cast<float*>(reserve(int64_t{context + 1} * kHeadDim * 4));
  auto* positions = reinterpret_cast<int32_t*>(reserve(rows * 4));
  auto* partials =
      reinterpret_cast<float*>(reserve(attention_partial_bytes(counts.splits, kHeads, kHeadDim)));
  auto* best = reinterpret_cast<int32_t*>(reserve(rows * 4));
  for (auto* zero : {reinterpret_cast<std::byte*>(positions), reinterpret_cast<std::byte*>(best)}) {
    must(gpu_.enqueue_zero(zero, static_cast<size_t>(rows) * 4));
  }
  must(gpu_.enqueue_zero(residual, static_cast<size_t>(rows) * kHidden * 4));
  must(gpu_.enqueue_zero(weight, kHidden * 4));
  must(gpu_.enqueue_zero(cos, static_cast<size_t>(context + 1) * kHeadDim * 4));

  const auto& stream = gpu_.stream();
  const auto norm = [&](int32_t splits) {
    AddNormArgs args;
    args.residual = residual;
    args.sums = sums;
    args.splits = splits;
    args.weight = weight;
    args.eps = 1e-5F;
    args.out = x;
    args.rows = rows;
    args.width = kHidden;
    add_norm(args, stream);
  };
  const auto product = [&](const std::byte* w, int32_t n, int32_t k, const void* from, Gate gate) {
    if (rows <= kSkinnyRows) {
      SkinnyArgs args;
      args.w = w;
      args.x = from;
      args.n = n;
      args.k = k;
      args.rows = rows;
      args.sums = sums;
      args.gate = gate;
      args.gated = x;
      skinny(args, stream);
      return skinny_splits(k);
    }
    GemmArgs gemm;
    gemm.w = w;
    gemm.x = from;
    gemm.y = sums;
    gemm.y_dtype = gate == Gate::kNone ? DType::kF32 : DType::kBF16;
    gemm.rows = rows;
    gemm.n = n;
    gemm.k = k;
    must(gemm_->run(gemm));
    if (gate != Gate::kNone) {
      GateArgs args;
      args.in_dtype = DType::kBF16;
      args.in = sums;
      args.out = x;
      args.rows = rows;
      args.n = n / 2;
      kernels::cuda::gate(args, stream);
    }
    return 1;
  };
  const auto rope = [&](int layer) {
    kv.k_offset = 2 * layer * plane;
    kv.v_offset = kv.k_offset + plane;
    RopeAppendArgs args;
    args.sums = sums;
    args.rope = {cos, cos, kHeadDim, RopeStyle::kHalf};
    args.positions = positions;
    args.kv = kv;
    args.step = view;
    args.heads = kHeads;
    args.rows = rows;
    args.q = q;
    rope_append(args, stream);
  };
  const auto attend_in = [&](const PagedKv& pages) {
    AttentionArgs args;
    args.desc = {.heads = kHeads, .scale = 0.088F};
    args.kv = pages;
    args.step = view;
    args.rows = rows;
    args.q = q;
    args.out = x;
    args.partials = partials;
    decode_attention(args, stream);
  };
  const auto attend = [&](int layer) {
    kv.k_offset = 2 * layer * plane;
    kv.v_offset = kv.k_offset + plane;
    attend_in(kv);
  };
  const auto step_all = [&](bool attention, bool glue) {
    for (int layer = 0; layer < kLayers; ++layer) {
      if (glue) norm(layer == 0 ? 0 : skinny_splits(kFfn));
      product(qkv_ + int64_t{layer} * kQkv * kHidden * 2, kQkv, kHidden, x, Gate::kNone);
      if (glue) rope(layer);
      if (attention) attend(layer);
      product(out_ + int64_t{layer} * kHidden * kHidden * 2, kHidden, kHidden, x, Gate::kNone);
      if (glue) norm(1);
      product(up_ + int64_t{layer} * 2 * kFfn * kHidden * 2, 2 * kFfn, kHidden, x, Gate::kSilu);
      product(down_ + int64_t{layer} * kFfn * kHidden * 2, kHidden, kFfn, x, Gate::kNone);
    }
    norm(skinny_splits(kFfn));
    product(head_, kVocabulary, kHidden, x, Gate::kNone);
    FinishLogitsArgs args;
    args.sums = sums;
    args.logits = sums;
    args.best = best;
    args.rows = rows;
    args.width = kVocabulary;
    finish_logits(args, stream);
  };
  step_all(true, true);  // so that the library chooses outside of the capture
  must(gpu_.synchronize());
  const double weights = 15.01e9;
  const double cache = 131072.0 * context * rows;
  const std::string name = std::to_string(rows) + " streams, context " + std::to_string(context);
  row(("step: products alone, " + name).c_str(), time([&] { step_all(false, false); }), weights);
  row(("step: with norms and RoPE, " + name).c_str(), time([&] { step_all(false, true); }),
      weights);
  const double whole = time([&] { step_all(true, true); });
  row(("step: whole, " + name).c_str(), whole, weights + cache);
  std::printf("    %.1f tokens/s\n", rows / whole * 1e3);
  row(("attention alone, " + name).c_str(), time([&] {
                                              for (int layer = 0; layer < kLayers; ++layer)
                                                attend(layer);
                                            }) / kLayers,
      cache / kLayers);
  // In the first half of each layer's planes.
  row(("attention alone, E4M3, " + name).c_str(), time([&] {
                                                    PagedKv small = kv;
                                                    small.dtype = DType::kF8_E4M3;
                                                    for (int layer = 0; layer < kLayers; ++layer) {
                                                      small.k_offset = 2 * layer * plane;
                                                      small.v_offset = small.k_offset + plane / 2;
                                                      attend_in(small);
                                                    }
                                                  }) / kLayers,
      cache / 2 / kLayers);
  buffers_.erase(buffers_.begin() + static_cast<ptrdiff_t>(kept), buffers_.end());
}

void Bench::prefill(int32_t rows) {
  constexpr int32_t kPage = 32;
  const size_t kept = buffers_.size();
  const int64_t plane = int64_t{kKvHeads} * kPage * kHeadDim * 2;
  const int32_t pages = rows / kPage;
  const PagedKv kv{.pool = random(plane * pages),
                   .page_bytes = 2 * plane,
                   .v_offset = plane,
                   .dtype = DType::kBF16,
                   .page_tokens = kPage,
                   .kv_heads = kKvHeads,
                   .head_dim = kHeadDim};
  std::vector<uint32_t> table;
  for (int32_t p = 0; p < pages; ++p) table.push_back(static_cast<uint32_t>(p));
  const AttnSequence sequence{0, rows, rows, table.data()};
  const GroupShape group{kPage, 0};
  const StepCounts counts = StepWriter::count({&sequence, 1}, group);
  const StepWriter writer({rows, 1, 0, counts.prefill, counts.table_entries});
  std::vector<std::byte> host(static_cast<size_t>(writer.bytes()));
  writer.write({&sequence, 1}, rows, group, host.data());
  std::byte* step = reserve(writer.bytes());
  must(gpu_.enqueue_copy(step, host.data(), host.size()));
  AttentionArgs args;
  args.desc = {.heads = kHeads, .scale = 0.088F};
  args.kv = kv;
  args.step = writer.view(step, 0, counts.prefill);
  args.rows = rows;
  args.q = random(int64_t{rows} * kHidden);
  args.out = reserve(int64_t{rows} * kHidden * 2);
  const double ms = time([&] { prefill_attention(args, gpu_.stream()); });
  std::printf("prefill attention %d: %.3f ms, %.1f TFLOP/s (causal)\n", rows, ms,
              2.0 * rows * rows * kHidden / ms / 1e9);
  buffers_.erase(buffers_.begin() + static_cast<ptrdiff_t>(kept), buffers_.end());
}

}  // namespace
}  // namespace o3::kernels::cuda

int main(int count, char** arguments) {
  using namespace o3::kernels::cuda;
  auto gpu = must(o3::device::cuda::CudaBackend::create({}));
  std::printf("%s\n", gpu->description().c_str());
  Bench bench(*gpu);
  bench.ceilings();
  if (count > 1 && std::string_view(arguments[1]) == "ceilings") return 0;
  bench.products();
  for (const int context : {512, 8192}) bench.decode(1, context);
  for (const int rows : {8, 64, 256}) bench.decode(rows, 512);
  bench.decode(64, 8192);
  bench.prefill(2048);
  bench.prefill(16384);
  return 0;
}
