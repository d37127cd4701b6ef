// SPDX-License-Identifier: Apache-2.0
// to_json(): Python's json.dumps, which is what Hugging Face's tojson filter calls.
#include <algorithm>
#include <cmath>

#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(RenderState& state, const JsonFormat& format) : state_(&state), format_(&format) {}

  Result<void> write(const Value& value, int level);
  TaintedString take() && { return std::move(out_); }

 private:
  using Pairs = std::vector<std::pair<Value, Value>>;

  Result<void> write_string(const TaintedString& text);
  Result<void> write_list(const std::vector<Value>& items, int level);
  Result<void> write_dict(const Pairs& items, int level);
  Result<void> write_key(const Value& key);
  Result<Pairs> sorted(Pairs items);
  void write_scalar(const Value& value);
  void open_item(bool first, int level);
  void new_line(int level);
  void put(std::string_view text) { out_.append(text, Origin::kTemplate); }

  RenderState* state_;
  const JsonFormat* format_;
  TaintedString out_;
};

std::string unicode_escape(char32_t unit) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(unit >> shift) & 0xF];
  return out;
}

void append_json_char(TaintedString& out, std::string_view piece, char32_t c, Origin origin,
                      bool ensure_ascii) {
  switch (c) {
    case '"':
      return out.append("\\\"", origin);
    case '\\':
      return out.append("\\\\", origin);
    case '\n':
      return out.append("\\n", origin);
    case '\r':
      return out.append("\\r", origin);
    case '\t':
      return out.append("\\t", origin);
    case '\f':
      return out.append("\\f", origin);
    case '\b':
      return out.append("\\b", origin);
    default:
      break;
  }
  if (c < 0x20 || (ensure_ascii && c > 0x7E && c < 0x10000)) {
    out.append(unicode_escape(c), origin);
  } else if (ensure_ascii && c >= 0x10000) {
    out.append(unicode_escape(0xD800 + ((c - 0x10000) >> 10)), origin);
    out.append(unicode_escape(0xDC00 + ((c - 0x10000) & 0x3FF)), origin);
  } else {
    out.append(piece, origin);
  }
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_repr(value);
}

Result<void> JsonWriter::write_string(const TaintedString& text) {
  O3_TRY(state_->charge(text.copy_cost() + text.size() / 4));
  put("\"");
  text.for_each_run([&](std::string_view run, Origin origin) {
    for (size_t pos = 0; pos < run.size();) {
      const size_t begin = pos;
      const char32_t c = next_code_point(run, pos);
      append_json_char(out_, run.substr(begin, pos - begin), c, origin, format_->ensure_ascii);
    }
  });
  put("\"");
  return {};
}

void JsonWriter::write_scalar(const Value& value) {
  const Origin origin = value.scalar_origin();
  switch (value.kind()) {
    case Value::Kind::kBool:
      return out_.append(value.as_bool() ? "true" : "false", origin);
    case Value::Kind::kInt:
      return out_.append(std::to_string(value.as_int()), origin);
    case Value::Kind::kBigInt:
      return out_.append(value.big_digits(), origin);
    case Value::Kind::kFloat:
      return out_.append(json_float(value.as_number()), origin);
    default:
      return out_.append("null", origin);
  }
}

void JsonWriter::new_line(int level) {
  if (!format_->indent) return;
  put("\n");
  for (int i = 0; i < level; ++i) out_.append(*format_->indent);
}

void JsonWriter::open_item(bool first, int level) {
  if (!first) out_.append(format_->item_separator);
  new_line(level);
}

Result<void> JsonWriter::write_list(const std::vector<Value>& items, int level) {
  put("[");
  for (size_t i = 0; i < items.size(); ++i) {
    open_item(i == 0, level + 1);
    O3_TRY(write(items[i], level + 1));
  }
  if (!items.empty()) new_line(level);
  put("]");
  return {};
}

Result<void> JsonWriter::write_key(const Value& key) {
  if (key.is_string()) return write_string(key.as_string());
  if (!key.is_number() && !key.is_any_int() && !key.is_none()) {
    return invalid("tojson: keys must be str, int, float, bool or None, not " +
                   std::string(key.type_name()));
  }
  put("\"");
  write_scalar(key);
  put("\"");
  return {};
}

Result<JsonWriter::Pairs> JsonWriter::sorted(Pairs items) {
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const auto& [key, value] : items) keys.push_back(key);
  O3_ASSIGN(const std::vector<size_t> order, sorted_order(*state_, keys, false));
  Pairs out;
  out.reserve(order.size());
  for (const size_t i : order) out.push_back(items[i]);
  return out;
}

Result<void> JsonWriter::write_dict(const Pairs& items, int level) {
  put("{");
  for (size_t i = 0; i < items.size(); ++i) {
    open_item(i == 0, level + 1);
    O3_TRY(write_key(items[i].first));
    out_.append(format_->key_separator);
    O3_TRY(write(items[i].second, level + 1));
  }
  if (!items.empty()) new_line(level);
  put("}");
  return {};
}

Result<void> JsonWriter::write(const Value& value, int level) {
  const size_t indent = format_->indent ? format_->indent->copy_cost() - 1 : 0;
  O3_TRY(state_->charge(1 + static_cast<size_t>(level) * indent +
                        format_->item_separator.copy_cost() + format_->key_separator.copy_cost()));
  switch (value.kind()) {
    case Value::Kind::kString:
      return write_string(value.as_string());
    case Value::Kind::kNone:
    case Value::Kind::kBool:
    case Value::Kind::kInt:
    case Value::Kind::kFloat:
    case Value::Kind::kBigInt:
      write_scalar(value);
      return {};
    case Value::Kind::kSequence:
      if (value.as_sequence().flavour <= Sequence::Flavour::kTuple) {
        return write_list(value.as_sequence().items, level);
      }
      break;
    case Value::Kind::kDict: {
      if (!format_->sort_keys) return write_dict(value.as_dict().items, level);
      O3_ASSIGN(const Pairs items, sorted(value.as_dict().items));
      return write_dict(items, level);
    }
    default:
      break;
  }
  return invalid("tojson: a value of type " + std::string(value.type_name()) +
                 " is not JSON serializable");
}

}  // namespace

Result<TaintedString> to_json(RenderState& state, const Value& value, const JsonFormat& format) {
  JsonWriter writer(state, format);
  O3_TRY(writer.write(value, 0));
  return std::move(writer).take();
}

}  // namespace o3::text::jinja
