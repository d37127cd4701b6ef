// SPDX-License-Identifier: Apache-2.0
#include "app/describe_model.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/printable.h"

namespace o3::app {
namespace {

using artifact::GgufEntry;
using artifact::GgufFile;
using artifact::GgufTensor;
using artifact::GgufType;
using artifact::GgufValue;
using artifact::HfDirectory;
using artifact::SafeTensor;
using artifact::StringArray;
using artifact::UnreadTensor;
using Json = nlohmann::ordered_json;

constexpr uint64_t kShownElements = 8;
constexpr size_t kShownBytes = 120;  // of a value, in the text for people

Json string_json(std::string_view text) {
  // Through the serialiser that replaces what is not UTF-8: the file may hold any bytes.
  const std::string quoted =
      Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted);
}

template <class T>
Json number_json(GgufType type, const std::byte* at) {
  const GgufValue scalar{type, GgufType::kU8, 0, {at, gguf_type_bytes(type)}};
  const Result<T> value = scalar.as<T>("");
  return value.ok() ? Json(*value) : Json();
}

Json scalar_json(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::kF32:
      return number_json<float>(type, at);
    case GgufType::kF64:
      return number_json<double>(type, at);
    case GgufType::kBool:
      return number_json<bool>(type, at);
    case GgufType::kU64:
      return number_json<uint64_t>(type, at);
    default:
      return number_json<int64_t>(type, at);
  }
}

Json array_json(const GgufValue& value) {
  Json first = Json::array();
  const uint64_t shown = std::min(value.count, kShownElements);
  if (value.element == GgufType::kString) {
    auto text = StringArray(value.data, value.count).begin();
    for (uint64_t i = 0; i < shown; ++i, ++text) first.push_back(string_json(*text));
  } else {
    const size_t step = gguf_type_bytes(value.element);
    for (uint64_t i = 0; i < shown; ++i) {
      first.push_back(scalar_json(value.element, value.data.data() + i * step));
    }
  }
  if (shown == value.count) return first;
  return {{"type", value.type_name()}, {"count", value.count}, {"first", std::move(first)}};
}

Json value_json(const GgufValue& value) {
  if (value.type == GgufType::kArray) return array_json(value);
  if (value.type != GgufType::kString) return scalar_json(value.type, value.data.data());
  return string_json({reinterpret_cast<const char*>(value.data.data()), value.data.size()});
}

// ordered_json looks every key up in the list before adding it; the keys of a file are known to be
// distinct, and a hostile file may have very many.
Json metadata_json(const GgufFile& file) {
  Json object = Json::object();
  auto& members = object.get_ref<Json::object_t&>();
  members.reserve(file.metadata().size());
  for (const GgufEntry& entry : file.metadata()) {
    members.emplace_back(string_json(entry.key).get<std::string>(), value_json(entry.value));
  }
  return object;
}

int64_t elements(const device::TensorView& view) noexcept {
  return view.rows() * view.cols();
}

struct TensorRow {
  std::string_view name;
  device::TensorView view;
  int64_t bytes;
};

Json tensor_json(const TensorRow& tensor) {
  const auto& shape = tensor.view.shape;
  return {{"name", string_json(tensor.name)},
          {"dtype", device::traits(tensor.view.dtype).name},
          {"shape", std::vector<int64_t>(shape.begin(), shape.begin() + tensor.view.rank)},
          {"bytes", tensor.bytes}};
}

Json totals_json(const std::vector<TensorRow>& tensors) {
  struct Total {
    int64_t tensors = 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    void add(const TensorRow& tensor) {
      ++tensors;
      elements += app::elements(tensor.view);
      bytes += tensor.bytes;
    }
  };
  Total all;
  std::map<std::string_view, Total> by_dtype;
  for (const TensorRow& tensor : tensors) {
    all.add(tensor);
    by_dtype[device::traits(tensor.view.dtype).name].add(tensor);
  }
  Json rows = Json::array();
  for (const auto& [dtype, total] : by_dtype) {
    rows.push_back({{"dtype", dtype},
                    {"tensors", total.tensors},
                    {"elements", total.elements},
                    {"bytes", total.bytes}});
  }
  return {{"tensors", all.tensors},
          {"elements", all.elements},
          {"bytes", all.bytes},
          {"by_dtype", std::move(rows)}};
}

void add_tensors(Json& all, const std::vector<TensorRow>& tensors) {
  Json list = Json::array();
  for (const TensorRow& tensor : tensors) list.push_back(tensor_json(tensor));
  all["tensors"] = std::move(list);
  all["totals"] = totals_json(tensors);
}

void add_unread(Json& all, const UnreadTensor& tensor) {
  all["unread"].push_back({{"name", string_json(tensor.name)},
                           {"dtype", string_json(tensor.type)},
                           {"shape", tensor.shape},
                           {"problem", string_json(tensor.problem)}});
}

// Objects are taken apart, one level for each dot; JSON that was read is not deep.
void add_members(const nlohmann::json& object, const std::string& prefix, Json& to) {
  auto& members = to.get_ref<Json::object_t&>();
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      add_members(value, prefix + key + ".", to);
    } else {
      members.emplace_back(prefix + key, Json(value));
    }
  }
}

// In ASCII: a hostile file must not reach the terminal with escape sequences.
std::string shown(const Json& value) {
  if (value.is_object() && value.contains("first")) {
    return value["type"].get<std::string>() + ", " + value["count"].dump() + " elements, first " +
           shown(value["first"]);
  }
  std::string text = value.dump(-1, ' ', true);
  if (text.size() <= kShownBytes) return text;
  return text.substr(0, kShownBytes) + "... (" + std::to_string(text.size()) + " bytes)";
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// Rows of columns, each as wide as its widest cell (at most 48).
std::string table(const std::vector<std::vector<std::string>>& rows) {
  constexpr size_t kWidest = 48;
  std::vector<size_t> widths(rows.empty() ? 0 : rows[0].size() - 1);
  for (const auto& row : rows) {
    for (size_t column = 0; column < widths.size(); ++column) {
      widths[column] = std::max(widths[column], std::min(row[column].size(), kWidest));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    out += "  ";
    for (size_t column = 0; column < widths.size(); ++column) {
      out += padded(row[column], widths[column]) + "  ";
    }
    out += row.back() + "\n";
  }
  return out;
}

}  // namespace

Json describe(const GgufFile& file) {
  std::vector<TensorRow> tensors;
  for (const GgufTensor& tensor : file.tensors()) {
    tensors.push_back({tensor.name, tensor.view, tensor.bytes});
  }
  Json all = {{"file", string_json(file.name())}, {"format", "GGUF"},
              {"version", file.version()},        {"alignment", file.alignment()},
              {"file_bytes", file.file_bytes()},  {"metadata", metadata_json(file)}};
  add_tensors(all, tensors);
  all["unread"] = Json::array();
  for (const UnreadTensor& tensor : file.unread()) add_unread(all, tensor);
  return all;
}

Json describe(const HfDirectory& directory) {
  std::vector<TensorRow> tensors;
  for (const SafeTensor* tensor : directory.tensors().tensors()) {
    tensors.push_back({tensor->name, tensor->view, tensor->bytes});
  }
  Json metadata = Json::object();
  add_members(directory.config(), "", metadata);
  add_members(directory.generation(), "generation.", metadata);
  Json all = {{"file", string_json(directory.name())},
              {"format", "safetensors"},
              {"files", directory.tensors().files()},
              {"file_bytes", directory.tensors().file_bytes()},
              {"metadata", std::move(metadata)}};
  add_tensors(all, tensors);
  all["unread"] = Json::array();
  for (const UnreadTensor* tensor : directory.tensors().unread()) add_unread(all, *tensor);
  return all;
}

std::string describe_text(const Json& described) {
  std::vector<std::vector<std::string>> metadata;
  metadata.reserve(described["metadata"].size());
  for (const auto& [key, value] : described["metadata"].items()) {
    metadata.push_back({printable(key), shown(value)});
  }
  std::vector<std::vector<std::string>> tensors;
  tensors.reserve(described["tensors"].size());
  for (const Json& tensor : described["tensors"]) {
    tensors.push_back({printable(tensor["name"].get<std::string>()),
                       tensor["dtype"].get<std::string>(), tensor["shape"].dump(),
                       tensor["bytes"].dump()});
  }
  std::vector<std::vector<std::string>> unread;
  for (const Json& tensor : described["unread"]) {
    unread.push_back({printable(tensor["name"].get<std::string>()),
                      printable(tensor["dtype"].get<std::string>()), tensor["shape"].dump(),
                      tensor["problem"].get<std::string>()});
  }
  std::vector<std::vector<std::string>> totals{{"dtype", "tensors", "elements", "bytes"}};
  const auto add_total = [&totals](const std::string& name, const Json& row) {
    totals.push_back({name, row["tensors"].dump(), row["elements"].dump(), row["bytes"].dump()});
  };
  for (const Json& row : described["totals"]["by_dtype"]) add_total(row["dtype"], row);
  add_total("all", described["totals"]);

  const bool gguf = described["format"] == "GGUF";
  std::string out = printable(described["file"].get<std::string>()) + ": ";
  out += gguf ? "GGUF version " + described["version"].dump()
              : described["files"].dump() + " safetensors file(s)";
  out += ", " + described["file_bytes"].dump() + " bytes";
  if (gguf) out += ", alignment " + described["alignment"].dump();
  out += "\n\nMetadata\n" + table(metadata);
  out += "\nTensors (name, dtype, shape, bytes)\n" + table(tensors);
  if (!unread.empty()) out += "\nNot read (name, dtype, shape, why)\n" + table(unread);
  out += "\nTotals\n" + table(totals);
  return out;
}

}  // namespace o3::app
