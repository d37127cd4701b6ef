// SPDX-License-Identifier: Apache-2.0
#include "config/json_reader.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace o3::config {
namespace {

using nlohmann::json;

// `position` counts from 1.
std::string not_json(size_t position) {
  return "Not valid JSON (UTF-8 text) at byte " + std::to_string(position) + ".";
}

// Receives the library's parse events; builds the document and counts. A false return ends the
// parse, with error_ saying why. The member names are the library's.
class Builder {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() { return put(nullptr) != nullptr; }
  bool boolean(bool value) { return put(value) != nullptr; }
  bool number_integer(number_integer_t value) { return put(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) { return put(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) {
    return put(value) != nullptr;
  }
  bool string(string_t& value) { return put(std::move(value)) != nullptr; }
  bool binary(binary_t& /*value*/) { return false; }  // JSON text has none

  bool start_object(size_t /*unknown*/) { return open(json::object()); }
  bool start_array(size_t /*unknown*/) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& name) {
    if (name.size() > limits_.key_bytes) {
      return fail(Code::kTooLong,
                  "A key is longer than " + std::to_string(limits_.key_bytes) + " bytes.");
    }
    if (open_.back()->contains(name)) {
      key_ = std::move(name);
      return fail(Code::kInvalid, "The key is given twice in one object.");
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    constexpr int kNumberOverflow = 406;  // the library's id
    if (error.id == kNumberOverflow) {
      return fail(Code::kInvalid, "A number is outside the range of a double.");
    }
    return fail(Code::kInvalid, not_json(position));
  }

  json take() { return std::move(root_); }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  json* put(T&& value) {
    if (++values_ > limits_.values) {
      fail(Code::kTooLong, "More than " + std::to_string(limits_.values) + " values.");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::forward<T>(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::forward<T>(value));
      return &parent.back();
    }
    json& slot = parent[key_];
    slot = std::forward<T>(value);
    return &slot;
  }

  bool open(json container) {
    if (static_cast<int>(open_.size()) == limits_.depth) {
      return fail(Code::kTooLong,
                  "Nested deeper than " + std::to_string(limits_.depth) + " levels.");
    }
    json* made = put(std::move(container));
    if (made == nullptr) return false;
    open_.push_back(made);
    keys_.push_back(std::move(key_));
    key_.clear();
    return true;
  }

  bool close() {
    open_.pop_back();
    key_ = std::move(keys_.back());
    keys_.pop_back();
    return true;
  }

  bool fail(Code code, std::string message) {
    if (!error_) error_ = Error{code, std::move(message), path()};
    return false;
  }

  // Of the value being read. Bounded: a long path would only repeat the input.
  std::string path() const {
    constexpr size_t kMostBytes = 100;
    std::string text;
    for (size_t level = 0; level < open_.size() && text.size() < kMostBytes; ++level) {
      if (open_[level]->is_array()) {
        // The last element of an outer array is the container that is being filled.
        const size_t inside = level + 1 < open_.size() ? 1 : 0;
        text.append("[").append(std::to_string(open_[level]->size() - inside)).append("]");
        continue;
      }
      const std::string& name = level + 1 < keys_.size() ? keys_[level + 1] : key_;
      if (!text.empty() && !name.empty()) text += '.';
      text += name;
    }
    return text.size() < kMostBytes ? text : std::string();
  }

  JsonLimits limits_;
  json root_;
  std::vector<json*> open_;        // containers being filled, outermost first; an element stays
                                   // where it is while it is the last of its parent
  std::vector<std::string> keys_;  // the key under which each of them stands
  std::string key_;                // of the next value, in the innermost object
  size_t values_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<nlohmann::json> read_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return Error{Code::kTooLong, "Larger than " + std::to_string(limits.bytes) + " bytes.", {}};
  }
  // The library takes a NUL byte for the end of the text; no valid text has one.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return invalid(not_json(nul + 1));
  }
  Builder builder(limits);
  const bool complete = json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.error()) return *builder.error();
  if (!complete) return invalid("Not valid JSON.");
  return builder.take();
}

}  // namespace o3::config
