// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/print.h"

#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/objects.h"
#include "text/jinja/string_literal.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

// repr() of nested values into one buffer.
class ReprWriter {
 public:
  explicit ReprWriter(RenderState& state) : state_(&state) {}

  Result<void> write(const Value& value);
  TaintedString take() && { return std::move(out_); }

 private:
  Result<void> write_string(const TaintedString& text);
  Result<void> write_items(const std::vector<Value>& items, std::string_view open,
                           std::string_view close);
  Result<void> write_pairs(const std::vector<std::pair<Value, Value>>& items);
  Result<void> write_sequence(const Sequence& sequence);
  Result<void> write_object(const Object& object);
  void put(std::string_view text) { out_.append(text, Origin::kTemplate); }

  RenderState* state_;
  TaintedString out_;
  int objects_ = 0;  // namespaces may hold themselves
};

Error has_no_text(std::string_view type) {
  return unsupported("printing a " + std::string(type) + " has no meaning here");
}

void append_repr_char(TaintedString& out, std::string_view piece, char32_t c, char quote,
                      Origin origin) {
  switch (c) {
    case '\n':
      return out.append("\\n", origin);
    case '\r':
      return out.append("\\r", origin);
    case '\t':
      return out.append("\\t", origin);
    case '\\':
      return out.append("\\\\", origin);
    default:
      break;
  }
  if (c == static_cast<unsigned char>(quote)) out.append("\\", origin);
  if (is_printable(c)) {
    out.append(piece, origin);
  } else {
    out.append(hex_escape(c), origin);
  }
}

Result<void> ReprWriter::write_string(const TaintedString& text) {
  O3_TRY(state_->charge(text.copy_cost() + text.size() / 4));
  const std::string& raw = text.text();
  const bool prefers_double =
      raw.find('\'') != std::string::npos && raw.find('"') == std::string::npos;
  const char quote = prefers_double ? '"' : '\'';
  put({&quote, 1});
  text.for_each_run([&](std::string_view run, Origin origin) {
    for (size_t pos = 0; pos < run.size();) {
      const size_t begin = pos;
      const char32_t c = next_code_point(run, pos);
      append_repr_char(out_, run.substr(begin, pos - begin), c, quote, origin);
    }
  });
  put({&quote, 1});
  return {};
}

Result<void> ReprWriter::write_items(const std::vector<Value>& items, std::string_view open,
                                     std::string_view close) {
  put(open);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) put(", ");
    O3_TRY(write(items[i]));
  }
  put(close);
  return {};
}

Result<void> ReprWriter::write_pairs(const std::vector<std::pair<Value, Value>>& items) {
  put("{");
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) put(", ");
    O3_TRY(write(items[i].first));
    put(": ");
    O3_TRY(write(items[i].second));
  }
  put("}");
  return {};
}

Result<void> ReprWriter::write_sequence(const Sequence& sequence) {
  switch (sequence.flavour) {
    case Sequence::Flavour::kList:
      return write_items(sequence.items, "[", "]");
    case Sequence::Flavour::kTuple:
      return write_items(sequence.items, "(", sequence.items.size() == 1 ? ",)" : ")");
    case Sequence::Flavour::kRange:
      // A slice of a range: its items are known, not the bounds that Python would print.
      if (sequence.label.empty()) return has_no_text("slice of a range");
      put(sequence.label);
      return {};
    case Sequence::Flavour::kDictKeys:
      return write_items(sequence.items, "dict_keys([", "])");
    case Sequence::Flavour::kDictValues:
      return write_items(sequence.items, "dict_values([", "])");
    case Sequence::Flavour::kDictItems:
      return write_items(sequence.items, "dict_items([", "])");
    case Sequence::Flavour::kIterator:
      return has_no_text("generator");
  }
  return has_no_text("sequence");
}

Result<void> ReprWriter::write_object(const Object& object) {
  if (const auto* space = dynamic_cast<const Namespace*>(&object)) {
    if (++objects_ > kMaxValueDepth) return has_no_text("namespace that contains itself");
    put("<Namespace ");
    O3_TRY(write_pairs(space->items()));
    put(">");
    --objects_;
    return {};
  }
  return has_no_text(object.type_name());
}

Result<void> ReprWriter::write(const Value& value) {
  O3_TRY(state_->charge(1));
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      put("Undefined");
      return {};
    case Value::Kind::kNone:
      out_.append("None", value.scalar_origin());
      return {};
    case Value::Kind::kBool:
      out_.append(value.as_bool() ? "True" : "False", value.scalar_origin());
      return {};
    case Value::Kind::kInt:
      out_.append(std::to_string(value.as_int()), value.scalar_origin());
      return {};
    case Value::Kind::kBigInt:
      O3_TRY(state_->charge(value.big_digits().size() / 16));
      out_.append(value.big_digits(), value.scalar_origin());
      return {};
    case Value::Kind::kFloat:
      out_.append(float_repr(value.as_number()), value.scalar_origin());
      return {};
    case Value::Kind::kString:
      if (value.is_markup()) put("Markup(");
      O3_TRY(write_string(value.as_string()));
      if (value.is_markup()) put(")");
      return {};
    case Value::Kind::kSequence:
      return write_sequence(value.as_sequence());
    case Value::Kind::kDict:
      return write_pairs(value.as_dict().items);
    case Value::Kind::kObject:
      return write_object(*value.as_object());
    case Value::Kind::kFunction:
    case Value::Kind::kMethod:
      return has_no_text(value.type_name());
  }
  return {};
}

}  // namespace

Result<TaintedString> repr(RenderState& state, const Value& value) {
  ReprWriter writer(state);
  O3_TRY(writer.write(value));
  return std::move(writer).take();
}

Result<StringPtr> to_string(RenderState& state, const Value& value) {
  if (value.is_string()) return value.string_ptr();
  if (value.is_undefined()) return std::make_shared<const TaintedString>();
  O3_ASSIGN(TaintedString text, repr(state, value));
  return std::make_shared<const TaintedString>(std::move(text));
}

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto wrote = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<size_t>(wrote.ptr - buffer.data()));
  const size_t e = text.find('e');
  std::string digits(text.substr(0, e));
  const std::string sign = digits[0] == '-' ? "-" : "";
  std::erase_if(digits, [](char c) { return c == '-' || c == '.'; });
  int exponent = 0;
  const char* begin = text.data() + e + 1;
  std::from_chars(*begin == '+' ? begin + 1 : begin, text.data() + text.size(), exponent);

  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {  // Python's rule for switching notation
    std::string out = sign + digits.substr(0, 1);
    if (count > 1) out += "." + digits.substr(1);
    const std::string magnitude = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
  }
  if (exponent < 0) {
    const int zeros = -exponent - 1;
    return sign + "0." + std::string(static_cast<size_t>(zeros), '0') + digits;
  }
  if (count <= exponent + 1) {
    const int zeros = exponent + 1 - count;
    return sign + digits + std::string(static_cast<size_t>(zeros), '0') + ".0";
  }
  const int whole = exponent + 1;  // digits before the point
  const auto point = static_cast<size_t>(whole);
  return sign + digits.substr(0, point) + "." + digits.substr(point);
}

}  // namespace o3::text::jinja
