// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/json_input.h"

#include <optional>
#include <utility>
#include <vector>

namespace o3::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxJsonDepth = 200;  // values may have half of it; the rest fails with its reason
constexpr size_t kMaxDigits = 4300;    // Python's limit for reading a whole number
// Members are found one after another, so that their number costs its square.
constexpr size_t kMaxMembers = 4096;
constexpr size_t kMaxValues = 1'000'000;

// Receives the library's parse events and builds the document; a false return ends the parse.
class Builder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(number_integer_t value) { return put(value); }
  bool number_unsigned(number_unsigned_t value) { return put(value); }
  bool number_float(number_float_t value, const string_t& text) {
    if (text.find_first_of(".eE") != std::string::npos) return put(value);
    if (text.size() > kMaxDigits) return fail("a whole number has more than 4300 digits");
    return put(Json::binary({text.begin(), text.end()}));
  }
  bool string(string_t& value) { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) { return false; }  // JSON text has none
  bool start_object(size_t /*unknown*/) { return open(Json::object()); }
  bool start_array(size_t /*unknown*/) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    if (open_.back()->size() == kMaxMembers) return fail("an object has more than 4096 members");
    keys_.back() = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    constexpr int kNumberOverflow = 406;  // the library's id
    return fail(error.id == kNumberOverflow
                    ? "a number is outside the range of a double"
                    : "not valid JSON (UTF-8 text) at byte " + std::to_string(position));
  }

  Json take() { return std::move(root_); }
  const std::optional<Error>& error() const { return error_; }

 private:
  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& slot = parent[keys_.back()];  // a key given twice keeps its first place, as in Python
    slot = std::move(value);
    return &slot;
  }
  bool put(Json value) {
    if (++values_ > kMaxValues) return fail("more than a million values");
    place(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (++values_ > kMaxValues) return fail("more than a million values");
    if (open_.size() == kMaxJsonDepth) return fail("nested deeper than 200 levels");
    open_.push_back(place(std::move(container)));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }
  bool fail(std::string message) {
    if (!error_) error_ = invalid(std::move(message));
    return false;
  }

  Json root_;
  std::vector<Json*> open_;        // containers being filled, outermost first
  std::vector<std::string> keys_;  // the key whose value comes next, for each of them
  size_t values_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> read_template_json(std::string_view text) {
  // The library takes a NUL byte for the end of the text; no valid text has one.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return invalid("not valid JSON (UTF-8 text) at byte " + std::to_string(nul + 1));
  }
  Builder builder;
  const bool complete = Json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.error()) return *builder.error();
  if (!complete) return invalid("not valid JSON");
  return builder.take();
}

}  // namespace o3::text
