// SPDX-License-Identifier: Apache-2.0
// Global functions.
#include <array>
#include <ctime>
#include <optional>
#include <string>

#include "text/jinja/call.h"
#include "text/jinja/objects.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

Result<Value> raise_exception(Call& call) {
  O3_ASSIGN(const StringPtr message, to_string(*call.state, *call.arg(0)));
  return invalid(message->text(), "messages");
}

std::string range_label(int64_t begin, int64_t end, int64_t step) {
  std::string label = "range(" + std::to_string(begin) + ", " + std::to_string(end);
  if (step != 1) label += ", " + std::to_string(step);
  return label + ")";
}

Result<Value> range(Call& call) {
  O3_ASSIGN(const int64_t first, int_argument(call, 0, 0));
  const bool one = call.arg(1) == nullptr;
  O3_ASSIGN(const int64_t second, int_argument(call, 1, first));
  O3_ASSIGN(const int64_t step, int_argument(call, 2, 1));
  if (step == 0) return invalid("range() arg 3 must not be zero");
  const int64_t begin = one ? 0 : first;
  const int64_t end = one ? first : second;
  const bool empty = step > 0 ? begin >= end : begin <= end;
  const uint64_t span = empty      ? 0
                        : step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)
                                   : static_cast<uint64_t>(begin) - static_cast<uint64_t>(end);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = empty ? 0 : (span - 1) / stride + 1;
  if (count > static_cast<uint64_t>(kMaxRange)) {
    return Error{Code::kTooLong, "Range too big. At most 100000 items are allowed.", {}};
  }
  O3_TRY(call.charge(1 + count));
  auto sequence = std::make_shared<Sequence>();
  sequence->flavour = Sequence::Flavour::kRange;
  sequence->label = range_label(begin, end, step);
  int64_t value = begin;
  for (uint64_t i = 0; i < count; ++i) {
    sequence->items.emplace_back(value);
    if (i + 1 < count) value += step;
  }
  return Value(SequencePtr(std::move(sequence)));
}

using Pairs = std::vector<std::pair<Value, Value>>;

// The members that dict(...) and namespace(...) are made from: a mapping or pairs, then names.
Result<Pairs> members(Call& call) {
  Pairs pairs;
  if (call.positional.size() > 1) return invalid("at most one positional argument is allowed");
  if (!call.positional.empty() && call.positional[0].is_dict()) {
    pairs = call.positional[0].as_dict().items;
    O3_TRY(call.charge(1 + pairs.size()));
  } else if (!call.positional.empty()) {
    O3_ASSIGN(const SequencePtr items, iterate(*call.state, call.positional[0]));
    for (const Value& item : items->items) {
      O3_ASSIGN(const SequencePtr pair, iterate(*call.state, item));
      if (pair->items.size() != 2) return invalid("a member needs a key and a value");
      O3_TRY(put_item(*call.state, pairs, pair->items[0], pair->items[1]));
    }
  }
  for (const auto& [name, value] : call.named) {
    O3_TRY(put_item(*call.state, pairs, call.name_value(name), value));
  }
  return pairs;
}

}  // namespace

Result<void> check_member_name(std::string_view name) {
  if (!name.starts_with('_')) return {};
  return invalid("a namespace takes no attribute that begins with '_', such as '" +
                 std::string(name) + "'");
}

namespace {

Result<Value> make_namespace(Call& call) {
  O3_ASSIGN(Pairs pairs, members(call));
  for (const auto& [key, value] : pairs) {
    if (key.is_string()) O3_TRY(check_member_name(key.as_string().view()));
  }
  O3_ASSIGN(Namespace * space, call.state->make_object<Namespace>(std::move(pairs)));
  return Value(static_cast<Object*>(space));
}

Result<Value> make_mapping(Call& call) {
  O3_ASSIGN(Pairs pairs, members(call));
  return make_dict(std::move(pairs));
}

Result<Value> make_cycler(Call& call) {
  if (call.positional.empty() || !call.named.empty()) {
    return invalid("at least one item has to be provided");
  }
  O3_ASSIGN(Cycler * cycler, call.state->make_object<Cycler>(call.positional));
  return Value(static_cast<Object*>(cycler));
}

Result<Value> make_joiner(Call& call) {
  Value separator = call.arg(0) != nullptr ? *call.arg(0) : Value::trusted(", ");
  O3_ASSIGN(Joiner * joiner, call.state->make_object<Joiner>(std::move(separator)));
  return Value(static_cast<Object*>(joiner));
}

std::tm broken_down(std::chrono::seconds local_time) {
  const auto second = static_cast<std::time_t>(local_time.count());
  std::tm out{};
  gmtime_r(&second, &out);  // the seconds are local already
  return out;
}

// One directive of strftime in the C locale; nothing when it is not supported.
std::optional<std::string> format_directive(const std::tm& time, std::string_view directive) {
  constexpr std::string_view kPlain = "aAbBcCdDeFgGhHIjmMnpPrRSTtuUVwWxXyY";
  const char letter = directive.back();
  if (letter == '%') return "%";
  if (letter == 'f') return "000000";
  if (letter == 'z' || letter == 'Z') return "";  // a time without a zone, as Python's now()
  const bool flag_known = directive.size() == 2 || directive[1] == '-' || directive[1] == '_' ||
                          directive[1] == '0' || directive[1] == '^';
  if (!flag_known || kPlain.find(letter) == std::string_view::npos) return std::nullopt;
  std::array<char, 128> buffer{};
  const size_t size =
      std::strftime(buffer.data(), buffer.size(), std::string(directive).c_str(), &time);
  return std::string(buffer.data(), size);
}

Result<Value> strftime_now(Call& call) {
  O3_ASSIGN(const StringPtr format, string_argument(call, 0));
  if (format == nullptr) return invalid("strftime_now() needs a format");
  O3_TRY(call.charge(format->copy_cost() + 8 * format->size()));
  const std::tm time = broken_down(call.state->local_time());
  const std::string_view text = format->view();
  TaintedString out;
  for (size_t pos = 0; pos < text.size();) {
    const size_t length =
        text[pos] == '%' && pos + 1 < text.size()
            ? (text[pos + 1] != '%' && pos + 2 < text.size() &&
                       std::string_view("-_0^").find(text[pos + 1]) != std::string_view::npos
                   ? 3
                   : 2)
            : 1;
    if (length == 1) {
      out.append_slice(*format, pos, pos + 1);
    } else {
      const std::string_view directive = text.substr(pos, length);
      const auto written = format_directive(time, directive);
      if (!written) {
        return unsupported("strftime_now(): '" + std::string(directive) + "' is not supported");
      }
      const bool content = format->slice(pos, pos + length).any_content();
      out.append(*written, content ? Origin::kContent : Origin::kTemplate);
    }
    pos += length;
  }
  return Value(std::move(out));
}

constexpr auto kFunctions = std::to_array<Builtin>({
    {"cycler", "*", 0, &make_cycler},
    {"dict", "*", 0, &make_mapping},
    {"joiner", "sep", 0, &make_joiner},
    {"lipsum", "*", 0, nullptr},
    {"namespace", "*", 0, &make_namespace},
    {"raise_exception", "message", 1, &raise_exception},
    {"range", ".start .stop .step", 1, &range},
    {"strftime_now", "format", 1, &strftime_now},
});

}  // namespace

const Builtin* find_function(std::string_view name) noexcept {
  return find_in(kFunctions, name);
}

}  // namespace o3::text::jinja
