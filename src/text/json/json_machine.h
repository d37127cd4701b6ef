// SPDX-License-Identifier: Apache-2.0
// Byte-level recogniser of one JSON object (RFC 8259), with bounds on everything that a generator
// could repeat forever. Every state that advance() can reach can still be completed.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace o3::text {

// RFC 8259 sets no bounds; these keep a model from filling its budget with blanks or digits.
struct JsonLimits {
  int nesting = 64;         // open brackets at once, 1-64
  int newlines = 1;         // line feeds between two tokens of the text, 0-255
  int blanks = 20;          // spaces, tabs and carriage returns between two tokens, 0-255
  int number_bytes = 32;    // of one number, sign, point and exponent included, 4-255
  int exponent_digits = 2;  // 0 (no exponents) to 2, so that every number is a finite double
};

// Where the text stands; 16 bytes, copied freely.
struct JsonState {
  enum class Mode : uint8_t {
    kTop,           // the object has not begun
    kFirstKey,      // behind {
    kKey,           // behind , in an object
    kColon,         // behind a key
    kValue,         // behind : or behind , in an array
    kFirstValue,    // behind [
    kAfterValue,    // inside an object or array
    kDone,          // the object is closed
    kText,          // inside a string
    kEscape,        // behind a backslash
    kHex,           // inside \uXXXX
    kPairSlash,     // behind a high surrogate, which must be followed by \u
    kPairU,         // and its low surrogate
    kCodePoint,     // inside a UTF-8 sequence
    kMinus,         // behind a number's sign
    kZero,          // behind a leading 0
    kInteger,       // inside the integer part
    kPoint,         // behind the point
    kFraction,      // inside the fraction
    kExponent,      // behind e
    kExponentSign,  // behind its sign
    kExponentDigits,
    kLiteral,  // inside true, false or null
  };
  Mode mode = Mode::kTop;
  uint8_t depth = 0;     // open brackets
  uint8_t newlines = 0;  // in the white space being read
  uint8_t blanks = 0;    // likewise
  uint8_t progress = 0;  // kHex, kLiteral: bytes read; kCodePoint: bytes missing;
                         // kExponentDigits: digits
  uint8_t detail = 0;    // kHex: Hex; kCodePoint: lead byte or 0; kLiteral: its first letter;
  uint8_t number = 0;    // bytes of the number being read
  bool key = false;      // the string being read is a key
  uint64_t objects = 0;  // bit d: the bracket at depth d + 1 is {

  bool operator==(const JsonState&) const = default;
};

class JsonMachine {
 public:
  static Result<JsonMachine> create(const JsonLimits& limits);

  // Takes one byte; false (and an unspecified state) if no JSON object within the limits continues
  // so.
  bool advance(JsonState& state, uint8_t byte) const noexcept;
  static bool complete(const JsonState& state) noexcept {
    return state.mode == JsonState::Mode::kDone;
  }

 private:
  explicit JsonMachine(const JsonLimits& limits) : limits_(limits) {}

  bool structure(JsonState& state, uint8_t byte) const noexcept;
  bool white_space(JsonState& state, uint8_t byte) const noexcept;
  bool begin_value(JsonState& state, uint8_t byte) const noexcept;
  bool number(JsonState& state, uint8_t byte) const noexcept;
  bool number_may_grow(const JsonState& state, int needed) const noexcept;
  bool open(JsonState& state, bool object) const noexcept;

  JsonLimits limits_;
};

}  // namespace o3::text
