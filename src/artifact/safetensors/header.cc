// SPDX-License-Identifier: Apache-2.0
#include "artifact/safetensors/header.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "artifact/safetensors/safetensors_file.h"
#include "base/printable.h"

namespace o3::artifact {
namespace {

using nlohmann::json;

constexpr size_t kMaxRank = 8;
constexpr std::string_view kMetadata = "__metadata__";

// {"name": {"dtype": "F16", "shape": [..], "data_offsets": [b, e]}, "__metadata__": {"k": "v"}},
// read event by event. Each handler answers whether to go on; a problem is told in `problem`.
class Reader : public nlohmann::json_sax<json> {
 public:
  std::vector<HeaderTensor> tensors;
  std::string problem;

  bool start_object(size_t /*elements*/) override {
    if (list_ != nullptr || depth_ == 2) return refuse("is nested too deeply");
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (depth_ == 2 && !metadata_ && seen_ != kAll) {
      return refuse("lacks dtype, shape or data_offsets");
    }
    --depth_;
    return true;
  }
  bool key(std::string& text) override {
    if (depth_ == 1) return begin_tensor(text);
    if (metadata_) return true;
    field_ = text == "dtype"          ? kType
             : text == "shape"        ? kShape
             : text == "data_offsets" ? kOffsets
                                      : 0;
    if (field_ == 0) return refuse("has another field than dtype, shape and data_offsets");
    if ((seen_ & field_) != 0) return refuse("has a field twice");
    seen_ |= field_;
    return true;
  }
  bool start_array(size_t /*elements*/) override {
    if (depth_ != 2 || metadata_ || list_ != nullptr)
      return refuse("has a list in the wrong place");
    if (field_ == kType) return refuse("has a dtype that is no text");
    list_ = field_ == kShape ? &tensors.back().shape : &offsets_;
    list_->clear();
    return true;
  }
  bool end_array() override {
    if (list_ == &offsets_) {
      if (offsets_.size() != 2) return refuse("needs two data_offsets");
      tensors.back().begin = offsets_[0];
      tensors.back().end = offsets_[1];
    }
    list_ = nullptr;
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ == 2 && metadata_) return true;
    if (depth_ != 2 || field_ != kType || list_ != nullptr)
      return refuse("has text in the wrong place");
    tensors.back().type = text;
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    if (list_ == nullptr) return refuse("has a number in the wrong place");
    if (list_->size() == kMaxRank) return refuse("has a list of more than 8 numbers");
    list_->push_back(value);
    return true;
  }
  bool number_integer(int64_t /*value*/) override { return refuse("has a negative number"); }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    return refuse("has a number that is not whole");
  }
  bool null() override { return refuse("has a null"); }
  bool boolean(bool /*value*/) override { return refuse("has a truth value"); }
  bool binary(json::binary_t& /*value*/) override { return false; }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    problem = "is no JSON at byte " + std::to_string(position);
    return false;
  }

 private:
  static constexpr unsigned kType = 1;
  static constexpr unsigned kShape = 2;
  static constexpr unsigned kOffsets = 4;
  static constexpr unsigned kAll = 7;

  bool begin_tensor(const std::string& name) {
    metadata_ = name == kMetadata;
    seen_ = 0;
    field_ = 0;
    if (metadata_) return true;
    if (name.empty() || name.size() > SafetensorsFile::kMaxNameBytes) {
      return refuse("has a name of no or more than 1024 bytes");
    }
    if (tensors.size() == SafetensorsFile::kMaxTensors) return refuse("has more than 2^20 tensors");
    tensors.emplace_back().name = name;
    return true;
  }
  bool refuse(const char* what) {
    problem = what;
    if (!tensors.empty()) problem += " (at tensor " + printable(tensors.back().name) + ")";
    return false;
  }

  int depth_ = 0;
  bool metadata_ = false;
  unsigned field_ = 0;
  unsigned seen_ = 0;
  std::vector<uint64_t>* list_ = nullptr;  // being filled
  std::vector<uint64_t> offsets_;
};

}  // namespace

Result<std::vector<HeaderTensor>> read_header(std::string_view text, const std::string& file) {
  if (text.empty() || text.front() != '{') {
    return invalid("the header of " + file + " does not begin with {");
  }
  Reader reader;
  if (!json::sax_parse(text.begin(), text.end(), &reader)) {
    return invalid("the header of " + file + " " + reader.problem);
  }
  return std::move(reader.tensors);
}

}  // namespace o3::artifact
