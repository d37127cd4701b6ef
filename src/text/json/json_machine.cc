// SPDX-License-Identifier: Apache-2.0
#include "text/json/json_machine.h"

#include <string>
#include <string_view>

namespace o3::text {
namespace {

using Mode = JsonState::Mode;

// What the digits of a \u escape may still be (JsonState::detail in kHex).
enum Hex : uint8_t {
  kAny,          // no digit read
  kOrdinary,     // no surrogate
  kMaybePair,    // first digit was d
  kHigh,         // a high surrogate
  kLowExpected,  // the low surrogate of a pair, no digit read
  kLowSecond,    // its d was read
  kLow,          // its c-f was read
};

bool is_digit(uint8_t byte) {
  return byte >= '0' && byte <= '9';
}

int hex_value(uint8_t byte) {
  if (is_digit(byte)) return byte - '0';
  const int letter = byte | 0x20;
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

std::string_view literal(uint8_t first) {
  return first == 't' ? "true" : first == 'f' ? "false" : "null";
}

bool in_object(const JsonState& state) {
  return ((state.objects >> (state.depth - 1)) & 1) != 0;
}

void after_value(JsonState& state) {
  state.mode = Mode::kAfterValue;
  state.newlines = 0;
  state.blanks = 0;
}

void expect(JsonState& state, Mode mode) {
  state.mode = mode;
  state.newlines = 0;
  state.blanks = 0;
}

bool close(JsonState& state) {
  --state.depth;
  state.objects &= ~(uint64_t{1} << state.depth);
  if (state.depth == 0) {
    state.mode = Mode::kDone;
  } else {
    after_value(state);
  }
  return true;
}

void begin_string(JsonState& state, bool key) {
  state.mode = Mode::kText;
  state.key = key;
}

bool text(JsonState& state, uint8_t byte) {
  if (byte == '"') {
    if (state.key) {
      expect(state, Mode::kColon);
    } else {
      after_value(state);
    }
    return true;
  }
  if (byte == '\\') {
    state.mode = Mode::kEscape;
    return true;
  }
  if (byte < 0x80) return byte >= 0x20;
  if (byte < 0xC2 || byte > 0xF4) return false;
  state.mode = Mode::kCodePoint;
  state.progress = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  state.detail = byte;
  return true;
}

// Unicode table 3-7: four lead bytes narrow what may follow them.
bool code_point(JsonState& state, uint8_t byte) {
  const uint8_t low = state.detail == 0xE0 ? 0xA0 : state.detail == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = state.detail == 0xED ? 0x9F : state.detail == 0xF4 ? 0x8F : 0xBF;
  if (byte < low || byte > high) return false;
  state.detail = 0;
  if (--state.progress == 0) state.mode = Mode::kText;
  return true;
}

bool escape(JsonState& state, uint8_t byte) {
  if (byte == 'u') {
    state.mode = Mode::kHex;
    state.progress = 0;
    state.detail = kAny;
    return true;
  }
  if (std::string_view("\"\\/bfnrt").find(static_cast<char>(byte)) == std::string_view::npos) {
    return false;
  }
  state.mode = Mode::kText;
  return true;
}

// What the digit makes of the escape; false when it would give a lone surrogate.
bool hex_detail(uint8_t& detail, int digit) {
  switch (detail) {
    case kAny:
      detail = digit == 0xD ? kMaybePair : kOrdinary;
      return true;
    case kMaybePair:
      detail = digit >= 8 ? kHigh : kOrdinary;
      return digit < 0xC;
    case kLowExpected:
      detail = kLowSecond;
      return digit == 0xD;
    case kLowSecond:
      detail = kLow;
      return digit >= 0xC;
    default:
      return true;
  }
}

bool hex(JsonState& state, uint8_t byte) {
  const int digit = hex_value(byte);
  if (digit < 0 || !hex_detail(state.detail, digit)) return false;
  if (++state.progress == 4) state.mode = state.detail == kHigh ? Mode::kPairSlash : Mode::kText;
  return true;
}

bool pair(JsonState& state, uint8_t byte) {
  if (state.mode == Mode::kPairSlash) {
    state.mode = Mode::kPairU;
    return byte == '\\';
  }
  state.mode = Mode::kHex;
  state.progress = 0;
  state.detail = kLowExpected;
  return byte == 'u';
}

bool literal_byte(JsonState& state, uint8_t byte) {
  const std::string_view word = literal(state.detail);
  if (byte != static_cast<uint8_t>(word[state.progress])) return false;
  if (++state.progress == word.size()) after_value(state);
  return true;
}

bool begin_number(JsonState& state, uint8_t byte) {
  state.number = 1;
  state.mode = byte == '-' ? Mode::kMinus : byte == '0' ? Mode::kZero : Mode::kInteger;
  return true;
}

// Behind a value: a comma or the closing bracket.
bool next_or_close(JsonState& state, uint8_t byte) {
  const bool object = in_object(state);
  if (byte == ',') {
    expect(state, object ? Mode::kKey : Mode::kValue);
    return true;
  }
  const uint8_t closing = object ? uint8_t{'}'} : uint8_t{']'};
  return byte == closing && close(state);
}

}  // namespace

Result<JsonMachine> JsonMachine::create(const JsonLimits& limits) {
  const auto outside = [](int value, int low, int high) { return value < low || value > high; };
  if (outside(limits.nesting, 1, 64)) return invalid("JSON nesting must be 1 to 64", "nesting");
  if (outside(limits.newlines, 0, 255)) return invalid("must be 0 to 255", "newlines");
  if (outside(limits.blanks, 0, 255)) return invalid("must be 0 to 255", "blanks");
  if (outside(limits.number_bytes, 4, 255)) return invalid("must be 4 to 255", "number_bytes");
  if (outside(limits.exponent_digits, 0, 2)) return invalid("must be 0 to 2", "exponent_digits");
  return JsonMachine(limits);
}

bool JsonMachine::white_space(JsonState& state, uint8_t byte) const noexcept {
  if (byte == '\n') return state.newlines++ < limits_.newlines;
  return state.blanks++ < limits_.blanks;
}

bool JsonMachine::open(JsonState& state, bool object) const noexcept {
  if (state.depth >= limits_.nesting) return false;
  if (object) state.objects |= uint64_t{1} << state.depth;
  ++state.depth;
  expect(state, object ? Mode::kFirstKey : Mode::kFirstValue);
  return true;
}

bool JsonMachine::begin_value(JsonState& state, uint8_t byte) const noexcept {
  switch (byte) {
    case '{':
      return open(state, true);
    case '[':
      return open(state, false);
    case '"':
      begin_string(state, false);
      return true;
    case 't':
    case 'f':
    case 'n':
      state.mode = Mode::kLiteral;
      state.detail = byte;
      state.progress = 1;
      return true;
    default:
      return (byte == '-' || is_digit(byte)) && begin_number(state, byte);
  }
}

bool JsonMachine::structure(JsonState& state, uint8_t byte) const noexcept {
  if (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r') return white_space(state, byte);
  switch (state.mode) {
    case Mode::kTop:
      return byte == '{' && open(state, true);
    case Mode::kFirstKey:
      if (byte == '}') return close(state);
      [[fallthrough]];
    case Mode::kKey:
      begin_string(state, true);
      return byte == '"';
    case Mode::kColon:
      expect(state, Mode::kValue);
      return byte == ':';
    case Mode::kFirstValue:
      if (byte == ']') return close(state);
      [[fallthrough]];
    case Mode::kValue:
      return begin_value(state, byte);
    default:
      return next_or_close(state, byte);
  }
}

// `needed` more bytes fit into the number.
bool JsonMachine::number_may_grow(const JsonState& state, int needed) const noexcept {
  return state.number + needed <= limits_.number_bytes;
}

bool JsonMachine::number(JsonState& state, uint8_t byte) const noexcept {
  const Mode mode = state.mode;
  const auto go = [&](Mode next) {
    state.mode = next;
    ++state.number;
    return true;
  };
  const bool whole = mode == Mode::kZero || mode == Mode::kInteger;
  const bool fraction = mode == Mode::kFraction;
  if (is_digit(byte)) {
    if (mode == Mode::kMinus) return go(byte == '0' ? Mode::kZero : Mode::kInteger);
    if (mode == Mode::kZero || !number_may_grow(state, 1)) return false;
    if (mode == Mode::kInteger) return go(Mode::kInteger);
    if (mode == Mode::kPoint || fraction) return go(Mode::kFraction);
    if (mode != Mode::kExponentDigits) state.progress = 0;
    return state.progress++ < limits_.exponent_digits && go(Mode::kExponentDigits);
  }
  // A point, an e or a sign needs a digit behind it.
  if (byte == '.' && whole) return number_may_grow(state, 2) && go(Mode::kPoint);
  if ((byte == 'e' || byte == 'E') && (whole || fraction)) {
    return limits_.exponent_digits > 0 && number_may_grow(state, 2) && go(Mode::kExponent);
  }
  if ((byte == '+' || byte == '-') && mode == Mode::kExponent) {
    return number_may_grow(state, 2) && go(Mode::kExponentSign);
  }
  if (!whole && !fraction && mode != Mode::kExponentDigits) return false;
  after_value(state);
  return structure(state, byte);
}

bool JsonMachine::advance(JsonState& state, uint8_t byte) const noexcept {
  switch (state.mode) {
    case Mode::kTop:
    case Mode::kFirstKey:
    case Mode::kKey:
    case Mode::kColon:
    case Mode::kValue:
    case Mode::kFirstValue:
    case Mode::kAfterValue:
      return structure(state, byte);
    case Mode::kDone:
      return false;
    case Mode::kText:
      return text(state, byte);
    case Mode::kEscape:
      return escape(state, byte);
    case Mode::kHex:
      return hex(state, byte);
    case Mode::kPairSlash:
    case Mode::kPairU:
      return pair(state, byte);
    case Mode::kCodePoint:
      return code_point(state, byte);
    case Mode::kMinus:
    case Mode::kZero:
    case Mode::kInteger:
    case Mode::kPoint:
    case Mode::kFraction:
    case Mode::kExponent:
    case Mode::kExponentSign:
    case Mode::kExponentDigits:
      return number(state, byte);
    case Mode::kLiteral:
      return literal_byte(state, byte);
  }
  return false;
}

}  // namespace o3::text
