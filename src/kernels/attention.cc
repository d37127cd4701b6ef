// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "kernels/cpu/tables.h"

namespace o3::kernels {
namespace {

using cpu::AttnOps;
using cpu::AttnTile;
using cpu::kSplit;
using cpu::kTileVectors;
using cpu::Partial;
using device::cpu::CpuBackend;
using device::cpu::ThreadPool;

constexpr int64_t kAlignFloats = 16;
constexpr float kNothing = -std::numeric_limits<float>::infinity();
// With fewer tiles than this many per thread, splits are spread over the threads as well.
constexpr int64_t kTilesPerThread = 4;
// Splits in flight per thread then; more would only cost workspace.
constexpr int64_t kSlotsPerThread = 8;

int64_t element_bytes(DType dtype) noexcept {
  return dtype == DType::kF16 ? 2 : 4;
}

int64_t scratch_floats(int32_t head_dim) noexcept {
  return int64_t{kTileVectors} * kSplit + round_up(head_dim, 32) * cpu::kKeyTokens;
}

int64_t partial_floats(int32_t head_dim) noexcept {
  return round_up(int64_t{kTileVectors} * (head_dim + 2), kAlignFloats);
}

Partial carve_partial(float* at, int32_t head_dim) noexcept {
  float* max = at + int64_t{kTileVectors} * head_dim;
  return {at, max, max + kTileVectors};
}

// A tile of query vectors of one sequence and KV head. Vectors are numbered row-major: vector
// v is head v % group of row v / group, group = query heads per KV head.
struct Item {
  const AttnSequence* sequence;
  int32_t kv_head;
  int32_t first_vector;
  int32_t vectors;
};

// One call of paged_attention(), seen by all threads.
class Attention {
 public:
  Attention(const AttnDesc& desc, const PagedKv& kv, std::span<const AttnSequence> sequences,
            TensorView q, TensorView out, ExecCtx& ctx)
      : desc_(desc),
        kv_(kv),
        sequences_(sequences),
        q_(q),
        out_(out),
        threads_(static_cast<CpuBackend&>(ctx.backend).threads()),
        ops_(cpu::select_attention(static_cast<CpuBackend&>(ctx.backend).isa(), kv.head_dim,
                                   kv.page_tokens)),
        workspace_(reinterpret_cast<float*>(ctx.workspace.data())),
        group_(desc.heads / kv.kv_heads) {}

  void run() {
    const int64_t items = count_items();
    if (items >= kTilesPerThread * threads_.size()) {
      run_items(items);
    } else {
      run_splits(items);
    }
  }

 private:
  int64_t tiles_of(const AttnSequence& sequence) const noexcept {
    return (int64_t{sequence.rows} * group_ + kTileVectors - 1) / kTileVectors;
  }

  int64_t count_items() const noexcept {
    int64_t items = 0;
    for (const AttnSequence& sequence : sequences_) items += tiles_of(sequence) * kv_.kv_heads;
    return items;
  }

  // Later tiles of a sequence see more keys: they come first, so that the last tasks are short.
  Item item(int64_t index) const noexcept {
    for (const AttnSequence& sequence : sequences_) {
      const int64_t tiles = tiles_of(sequence);
      if (index >= tiles * kv_.kv_heads) {
        index -= tiles * kv_.kv_heads;
        continue;
      }
      const auto first = static_cast<int32_t>((tiles - 1 - index / kv_.kv_heads) * kTileVectors);
      return {&sequence, static_cast<int32_t>(index % kv_.kv_heads), first,
              std::min(kTileVectors, sequence.rows * group_ - first)};
    }
    return {};
  }

  AttnTile tile(const Item& item, float* scratch) const noexcept {
    const AttnSequence& sequence = *item.sequence;
    const int64_t head_bytes =
        int64_t{kv_.page_tokens} * kv_.head_dim * element_bytes(kv_.dtype) * item.kv_head;
    const auto* pool = reinterpret_cast<const uint8_t*>(kv_.pool);
    AttnTile tile;
    tile.k = pool + kv_.k_offset + head_bytes;
    tile.v = pool + kv_.v_offset + head_bytes;
    tile.table = sequence.table;
    tile.page_bytes = kv_.page_bytes;
    tile.page_tokens = kv_.page_tokens;
    tile.head_dim = kv_.head_dim;
    tile.half = kv_.dtype == DType::kF16;
    tile.vectors = item.vectors;
    tile.scale = desc_.scale;
    tile.softcap = desc_.softcap;
    tile.scratch = scratch;
    for (int32_t i = 0; i < item.vectors; ++i) {
      const int32_t row = (item.first_vector + i) / group_;
      tile.q[i] = vector(q_, item, i);
      tile.high[i] = sequence.kv_len - sequence.rows + row + 1;
      tile.low[i] = desc_.window > 0 ? std::max(0, tile.high[i] - desc_.window) : 0;
    }
    return tile;
  }

  float* vector(const TensorView& of, const Item& item, int32_t i) const noexcept {
    const int32_t v = item.first_vector + i;
    const int64_t head = int64_t{item.kv_head} * group_ + v % group_;
    return of.row<float>(item.sequence->row_begin + v / group_) + head * kv_.head_dim;
  }

  // Splits that some vector of the item sees. Vectors ascend with rows, so the first has the
  // lowest bound and the last the highest.
  struct Splits {
    int32_t first;
    int32_t end;
  };
  Splits splits(const Item& item) const noexcept {
    const int32_t before = item.sequence->kv_len - item.sequence->rows;  // slots before row 0
    const int32_t low =
        desc_.window > 0 ? std::max(0, before + item.first_vector / group_ + 1 - desc_.window) : 0;
    const int32_t high = before + (item.first_vector + item.vectors - 1) / group_ + 1;
    return {low / kSplit, (high + kSplit - 1) / kSplit};
  }

  void attend(AttnTile& tile, int32_t split, const Partial& to) const noexcept {
    tile.begin = std::max(split * kSplit, tile.low[0]);
    tile.end = std::min((split + 1) * kSplit, tile.high[tile.vectors - 1]);
    tile.out = to;
    ops_.attend(tile);
  }

  void clear(const Partial& partial, int32_t vectors) const noexcept {
    std::fill_n(partial.acc, int64_t{vectors} * kv_.head_dim, 0.0F);
    std::fill_n(partial.max, vectors, kNothing);
    std::fill_n(partial.sum, vectors, 0.0F);
  }

  void write(const Item& item, const Partial& from) const noexcept {
    for (int32_t i = 0; i < item.vectors; ++i) {
      float* out = vector(out_, item, i);
      const float* acc = from.acc + int64_t{i} * kv_.head_dim;
      const float inverse = 1.0F / from.sum[i];
      for (int32_t d = 0; d < kv_.head_dim; ++d) out[d] = acc[d] * inverse;
    }
  }

  // Workspace: per thread scratch, running and fresh partial; then slots for split partials.
  float* scratch_of(int worker) const noexcept { return workspace_ + worker * thread_floats(); }
  int64_t thread_floats() const noexcept {
    return scratch_floats(kv_.head_dim) + 2 * partial_floats(kv_.head_dim);
  }
  Partial thread_partial(int worker, int which) const noexcept {
    float* at = scratch_of(worker) + scratch_floats(kv_.head_dim);
    return carve_partial(at + which * partial_floats(kv_.head_dim), kv_.head_dim);
  }
  Partial slot(int64_t index) const noexcept {
    float* at = workspace_ + threads_.size() * thread_floats();
    return carve_partial(at + index * partial_floats(kv_.head_dim), kv_.head_dim);
  }

  void run_items(int64_t items) const {
    threads_.run(items, [&](int64_t i, int worker) { run_item(item(i), worker); });
  }

  void run_item(const Item& item, int worker) const noexcept {
    AttnTile task = tile(item, scratch_of(worker));
    const Partial running = thread_partial(worker, 0);
    const Partial fresh = thread_partial(worker, 1);
    clear(running, item.vectors);
    const Splits range = splits(item);
    for (int32_t split = range.first; split < range.end; ++split) {
      attend(task, split, fresh);
      ops_.merge(running, fresh, item.vectors, kv_.head_dim);
    }
    write(item, running);
  }

  // Walks the (item, split) pairs of all items in order.
  struct Cursor {
    int64_t item = 0;
    int32_t split = 0;
  };
  Cursor start(int64_t index) const noexcept { return {index, splits(item(index)).first}; }
  Cursor after(const Cursor& at, int64_t items) const noexcept {
    if (at.split + 1 < splits(item(at.item)).end) return {at.item, at.split + 1};
    return at.item + 1 < items ? start(at.item + 1) : Cursor{items, 0};
  }

  // Few items: waves of splits, each into its slot; the caller's thread merges them in order.
  void run_splits(int64_t items) const {
    const int64_t slots = kSlotsPerThread * threads_.size();
    std::vector<Cursor> wave;
    for (int64_t i = 0; i < items; ++i) clear(slot(slots + i), item(i).vectors);
    for (Cursor at = start(0); at.item < items;) {
      wave.clear();
      for (; at.item < items && std::ssize(wave) < slots; at = after(at, items)) {
        wave.push_back(at);
      }
      attend_wave(wave);
      for (size_t i = 0; i < wave.size(); ++i) {
        const int32_t vectors = item(wave[i].item).vectors;
        ops_.merge(slot(slots + wave[i].item), slot(static_cast<int64_t>(i)), vectors,
                   kv_.head_dim);
      }
    }
    for (int64_t i = 0; i < items; ++i) write(item(i), slot(slots + i));
  }

  void attend_wave(std::span<const Cursor> wave) const {
    threads_.run(std::ssize(wave), [&](int64_t i, int worker) {
      const Cursor& at = wave[static_cast<size_t>(i)];
      AttnTile task = tile(item(at.item), scratch_of(worker));
      attend(task, at.split, slot(i));
    });
  }

  const AttnDesc& desc_;
  const PagedKv& kv_;
  std::span<const AttnSequence> sequences_;
  TensorView q_;
  TensorView out_;
  ThreadPool& threads_;
  const AttnOps& ops_;
  float* workspace_;
  int32_t group_;
};

}  // namespace

void paged_attention(const AttnDesc& desc, const PagedKv& kv,
                     std::span<const AttnSequence> sequences, TensorView q, TensorView out,
                     ExecCtx& ctx) {
  O3_CHECK(kv.dtype == DType::kF16 || kv.dtype == DType::kF32, "KV is F16 or F32");
  O3_CHECK(kv.page_tokens > 0 && kv.kv_heads > 0 && kv.head_dim > 0, "empty KV layout");
  O3_CHECK(desc.heads > 0 && desc.heads % kv.kv_heads == 0, "heads is a multiple of kv_heads");
  O3_CHECK(q.dtype == DType::kF32 && out.dtype == DType::kF32, "attention: q and out are F32");
  O3_CHECK(q.cols() == int64_t{desc.heads} * kv.head_dim && out.cols() == q.cols(),
           "attention: q and out are [n, heads * head_dim]");
  O3_CHECK(static_cast<int64_t>(ctx.workspace.size()) >=
               attention_workspace(desc, kv, q.rows(), ctx.backend),
           "attention: workspace too small");
  Attention(desc, kv, sequences, q, out, ctx).run();
}

int64_t attention_workspace(const AttnDesc& /*desc*/, const PagedKv& kv, int64_t /*rows*/,
                            device::Backend& backend) {
  const int64_t threads = static_cast<CpuBackend&>(backend).threads().size();
  const int64_t per_thread = scratch_floats(kv.head_dim) +
                             (2 + kSlotsPerThread + kTilesPerThread) * partial_floats(kv.head_dim);
  return threads * per_thread * static_cast<int64_t>(sizeof(float));
}

}  // namespace o3::kernels
