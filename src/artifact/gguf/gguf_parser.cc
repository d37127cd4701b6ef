// SPDX-License-Identifier: Apache-2.0
#include "artifact/gguf/gguf_parser.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "artifact/gguf/ggml_type.h"
#include "base/bytes.h"

namespace o3::artifact {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF", read little-endian
constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint64_t kMaxTensorNameBytes = 1024;  // the specification says 64; some tools wrote more
constexpr uint64_t kMaxEntries = 1u << 20;
constexpr uint64_t kMaxTensors = 1u << 20;
constexpr uint64_t kLeastEntryBytes = 8 + 1 + 4 + 1;           // key, type, value
constexpr uint64_t kLeastTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;  // name, rank, one dim, type, offset
constexpr uint32_t kMaxAlignment = 1u << 20;

bool valid_bools(std::span<const std::byte> data) noexcept {
  return std::all_of(data.begin(), data.end(), [](std::byte b) { return b <= std::byte{1}; });
}

std::string type_text(uint32_t number) {
  const std::string_view known = ggml_type_name(number);
  return known.empty() ? "an unknown type (number " + std::to_string(number) + ")"
                       : "type " + std::string(known);
}

// Indices of `items` sorted by the string that `name_of` gives.
template <class Items, class NameOf>
std::vector<uint32_t> sorted_index(const Items& items, NameOf name_of) {
  std::vector<uint32_t> index(items.size());
  std::iota(index.begin(), index.end(), 0u);
  std::sort(index.begin(), index.end(),
            [&](uint32_t a, uint32_t b) { return name_of(items[a]) < name_of(items[b]); });
  return index;
}

}  // namespace

Error GgufParser::damaged(std::string message, std::string_view param) const {
  return invalid(file_.name_ + ": " + std::move(message), printable(param));
}

Error GgufParser::beyond_us(std::string message, std::string_view param) const {
  return unsupported(file_.name_ + ": " + std::move(message), printable(param));
}

Result<std::span<const std::byte>> GgufParser::take(uint64_t count, std::string_view what) {
  if (count > left()) {
    return damaged("the file ends inside " + std::string(what) + ": byte " + std::to_string(at_) +
                   " is followed by " + std::to_string(left()) + " bytes, " +
                   std::to_string(count) + " were announced; the file is cut short or damaged");
  }
  const auto raw = bytes_.subspan(at_, count);
  at_ += count;
  return raw;
}

Result<std::string_view> GgufParser::read_string(uint64_t limit, std::string_view what) {
  O3_ASSIGN(const uint64_t length, read<uint64_t>(what));
  if (length > limit) {
    return damaged(std::string(what) + " has " + std::to_string(length) + " bytes; at most " +
                   std::to_string(limit) + " are allowed");
  }
  O3_ASSIGN(const auto raw, take(length, what));
  return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
}

Result<void> GgufParser::run() {
  O3_TRY(read_version());
  O3_ASSIGN(const uint64_t tensors, read<uint64_t>("the tensor count"));
  O3_ASSIGN(const uint64_t entries, read<uint64_t>("the metadata count"));
  // Both bounds make reserve() safe: what is allocated is proportional to the bytes present.
  if (entries > std::min(kMaxEntries, left() / kLeastEntryBytes)) {
    return damaged("the header announces " + std::to_string(entries) +
                   " metadata entries, more than the file can hold");
  }
  if (tensors > std::min(kMaxTensors, left() / kLeastTensorBytes)) {
    return damaged("the header announces " + std::to_string(tensors) +
                   " tensors, more than the file can hold");
  }
  file_.entries_.reserve(entries);
  for (uint64_t i = 0; i < entries; ++i) O3_TRY(read_entry());
  O3_TRY(index_keys());
  O3_TRY(read_alignment());
  file_.tensors_.reserve(tensors);
  for (uint64_t i = 0; i < tensors; ++i) O3_TRY(read_tensor());
  O3_TRY(index_tensors());
  return place_tensors();
}

Result<void> GgufParser::read_version() {
  O3_ASSIGN(const uint32_t magic, read<uint32_t>("the magic number"));
  if (magic != kMagic) return damaged("not a GGUF file: it does not begin with \"GGUF\"");
  O3_ASSIGN(const uint32_t version, read<uint32_t>("the version"));
  const uint32_t swapped = __builtin_bswap32(version);
  if (version == 2 || version == 3) {
    file_.version_ = version;
    return {};
  }
  if (swapped >= 1 && swapped <= 3) {
    return beyond_us("the file is big-endian; convert it to little-endian GGUF version 3");
  }
  return beyond_us("GGUF version " + std::to_string(version) +
                   " is not supported; versions 2 and 3 are");
}

Result<GgufType> GgufParser::read_type(std::string_view key) {
  O3_ASSIGN(const uint32_t number, read<uint32_t>("the type of metadata key " + printable(key)));
  if (number >= kGgufTypes) {
    return damaged(
        "metadata key " + printable(key) + " has the unknown value type " + std::to_string(number),
        key);
  }
  return static_cast<GgufType>(number);
}

Result<void> GgufParser::read_entry() {
  O3_ASSIGN(const std::string_view key, read_string(kMaxKeyBytes, "a metadata key"));
  if (key.empty()) return damaged("a metadata key is empty");
  O3_ASSIGN(const GgufType type, read_type(key));
  O3_ASSIGN(const GgufValue value, read_value(type, key));
  file_.entries_.push_back({key, value});
  return {};
}

Result<GgufValue> GgufParser::read_value(GgufType type, std::string_view key) {
  if (type == GgufType::kArray) return read_array(key);
  const std::string what = "the value of metadata key " + printable(key);
  GgufValue value;
  value.type = type;
  if (type == GgufType::kString) {
    O3_ASSIGN(const std::string_view text, read_string(left(), what));
    value.data = std::as_bytes(std::span(text));
    return value;
  }
  O3_ASSIGN(value.data, take(gguf_type_bytes(type), what));
  if (type == GgufType::kBool && !valid_bools(value.data)) {
    return damaged("metadata key " + printable(key) + " is a bool that is neither 0 nor 1", key);
  }
  return value;
}

Result<GgufValue> GgufParser::read_array(std::string_view key) {
  GgufValue value;
  value.type = GgufType::kArray;
  O3_ASSIGN(value.element, read_type(key));
  const std::string what = "the array of metadata key " + printable(key);
  O3_ASSIGN(value.count, read<uint64_t>(what));
  if (value.element == GgufType::kArray) {
    return beyond_us("metadata key " + printable(key) +
                         " is an array of arrays; only arrays of scalars and strings are read",
                     key);
  }
  if (value.element != GgufType::kString) {
    const auto size = checked_mul(value.count, gguf_type_bytes(value.element));
    O3_ASSIGN(value.data, take(size.value_or(std::numeric_limits<uint64_t>::max()), what));
    if (value.element == GgufType::kBool && !valid_bools(value.data)) {
      return damaged("metadata key " + printable(key) + " holds a bool that is neither 0 nor 1",
                     key);
    }
    return value;
  }
  const size_t begin = at_;
  for (uint64_t i = 0; i < value.count; ++i) O3_TRY(read_string(left(), what));
  value.data = bytes_.subspan(begin, at_ - begin);
  return value;
}

Result<void> GgufParser::index_keys() {
  const auto& entries = file_.entries_;
  file_.entries_by_key_ = sorted_index(entries, [](const GgufEntry& e) { return e.key; });
  const auto& index = file_.entries_by_key_;
  for (size_t i = 1; i < index.size(); ++i) {
    const std::string_view key = entries[index[i]].key;
    if (entries[index[i - 1]].key == key) {
      return damaged("metadata key " + printable(key) + " appears twice", key);
    }
  }
  return {};
}

Result<void> GgufParser::read_alignment() {
  constexpr std::string_view kKey = "general.alignment";
  O3_ASSIGN(const std::optional<uint32_t> found, file_.optional<uint32_t>(kKey));
  if (!found) return {};
  const bool power_of_two = (*found & (*found - 1)) == 0;
  if (*found < 8 || *found > kMaxAlignment || !power_of_two) {
    return damaged("general.alignment is " + std::to_string(*found) +
                       "; a power of two from 8 to " + std::to_string(kMaxAlignment) +
                       " is expected",
                   kKey);
  }
  file_.alignment_ = *found;
  return {};
}

Result<void> GgufParser::read_tensor() {
  GgufTensor tensor;
  O3_ASSIGN(tensor.name, read_string(kMaxTensorNameBytes, "a tensor name"));
  if (tensor.name.empty()) return damaged("a tensor name is empty");
  O3_ASSIGN(const bool empty, read_shape(tensor));
  const std::string what = "the description of tensor " + printable(tensor.name);
  O3_ASSIGN(const uint32_t number, read<uint32_t>(what));
  O3_ASSIGN(tensor.offset, read<uint64_t>(what));
  if (tensor.offset % file_.alignment_ != 0) {
    return damaged("tensor " + printable(tensor.name) + " begins at offset " +
                       std::to_string(tensor.offset) + ", not a multiple of the alignment " +
                       std::to_string(file_.alignment_),
                   tensor.name);
  }
  if (empty) return put_aside(tensor, number, "is empty; a model without it would work");
  const auto dtype = dtype_from_ggml(number);
  if (!dtype) {
    return put_aside(tensor, number,
                     "has " + type_text(number) + ", which this build cannot read; re-quantise " +
                         "the model, for example to Q4_K, Q8_0 or F16");
  }
  O3_TRY(set_dtype(tensor, *dtype));
  file_.tensors_.push_back(tensor);
  return {};
}

Result<void> GgufParser::put_aside(const GgufTensor& tensor, uint32_t number, std::string problem) {
  constexpr std::array<std::string_view, 4> kWhole = {"I8", "I16", "I32", "I64"};
  const std::string_view known = ggml_type_name(number);
  UnreadTensor unread;
  unread.name = tensor.name;
  unread.type = known.empty() ? "type " + std::to_string(number) : std::string(known);
  const auto& shape = tensor.view.shape;
  unread.shape.assign(shape.begin(), shape.begin() + tensor.view.rank);
  unread.problem = std::move(problem);
  unread.weightless = std::find(kWhole.begin(), kWhole.end(), known) != kWhole.end() ||
                      std::find(unread.shape.begin(), unread.shape.end(), 0) != unread.shape.end();
  file_.unread_.push_back(std::move(unread));
  return {};
}

// Answers whether the tensor is empty. The file lists axes with the contiguous one first (ne[0]);
// TensorView has it last.
Result<bool> GgufParser::read_shape(GgufTensor& tensor) {
  const std::string what = "the shape of tensor " + printable(tensor.name);
  O3_ASSIGN(const uint32_t rank, read<uint32_t>(what));
  if (rank < 1 || rank > tensor.view.shape.size()) {
    return damaged("tensor " + printable(tensor.name) + " has " + std::to_string(rank) +
                       " dimensions; 1 to 4 are allowed",
                   tensor.name);
  }
  tensor.view.rank = static_cast<uint8_t>(rank);
  uint64_t elements = 1;
  bool empty = false;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    O3_ASSIGN(const uint64_t size, read<uint64_t>(what));
    empty = empty || size == 0;
    const auto product = checked_mul(elements, std::max(size, uint64_t{1}));
    // The bound leaves room for the bytes of any dtype in 63 bits.
    if (!product || *product > (uint64_t{1} << 56)) {
      return damaged("tensor " + printable(tensor.name) + " has a dimension of " +
                         std::to_string(size) + ", which is too large",
                     tensor.name);
    }
    elements = *product;
    tensor.view.shape[rank - 1 - axis] = static_cast<int64_t>(size);
  }
  return empty;
}

Result<void> GgufParser::set_dtype(GgufTensor& tensor, device::DType dtype) {
  const device::DTypeTraits& traits = device::traits(dtype);
  device::TensorView& view = tensor.view;
  view.dtype = dtype;
  if (view.cols() % traits.block_elements != 0) {
    return damaged("tensor " + printable(tensor.name) + " has rows of " +
                       std::to_string(view.cols()) + " elements; " + std::string(traits.name) +
                       " needs a multiple of " + std::to_string(traits.block_elements),
                   tensor.name);
  }
  view.row_stride = device::row_bytes(dtype, view.cols());
  tensor.bytes = view.row_stride * view.rows();
  return {};
}

Result<void> GgufParser::place_tensors() {
  const auto alignment = static_cast<int64_t>(file_.alignment_);
  const auto begin = static_cast<uint64_t>(round_up(static_cast<int64_t>(at_), alignment));
  for (GgufTensor& tensor : file_.tensors_) {
    const auto start = checked_add(begin, tensor.offset);
    const auto end =
        start ? checked_add(*start, static_cast<uint64_t>(tensor.bytes)) : std::nullopt;
    if (!end || *end > bytes_.size()) {
      return damaged("tensor " + printable(tensor.name) + " (" + std::to_string(tensor.bytes) +
                         " bytes at offset " + std::to_string(tensor.offset) +
                         ") lies outside the file of " + std::to_string(bytes_.size()) +
                         " bytes; the file is cut short or damaged",
                     tensor.name);
    }
    // TensorView is the type of all tensors, mutable ones included; the mapping is read-only.
    tensor.view.data = const_cast<std::byte*>(bytes_.data() + *start);
  }
  return check_overlap();
}

Result<void> GgufParser::index_tensors() {
  const auto& tensors = file_.tensors_;
  file_.tensors_by_name_ = sorted_index(tensors, [](const GgufTensor& t) { return t.name; });
  const auto& index = file_.tensors_by_name_;
  for (size_t i = 1; i < index.size(); ++i) {
    const std::string_view name = tensors[index[i]].name;
    if (tensors[index[i - 1]].name == name) {
      return damaged("tensor " + printable(name) + " appears twice", name);
    }
  }
  std::set<std::string_view> unread;
  for (const UnreadTensor& tensor : file_.unread_) {
    if (unread.insert(tensor.name).second && file_.find_tensor(tensor.name) == nullptr) continue;
    return damaged("tensor " + printable(tensor.name) + " appears twice", tensor.name);
  }
  return {};
}

Result<void> GgufParser::check_overlap() const {
  const auto& tensors = file_.tensors_;
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return tensors[a].offset < tensors[b].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const GgufTensor& before = tensors[order[i - 1]];
    const GgufTensor& after = tensors[order[i]];
    if (before.offset + static_cast<uint64_t>(before.bytes) > after.offset) {
      return damaged(
          "tensors " + printable(before.name) + " and " + printable(after.name) + " overlap",
          after.name);
    }
  }
  return {};
}

}  // namespace o3::artifact
