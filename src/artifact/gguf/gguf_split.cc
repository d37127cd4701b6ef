// SPDX-License-Identifier: Apache-2.0
// Models split over several GGUF files, as gguf-split of llama.cpp writes them.
#include <algorithm>
#include <cctype>
#include <utility>

#include "artifact/gguf/gguf_file.h"
#include "artifact/gguf/gguf_parser.h"
#include "artifact/gguf/split_name.h"

namespace o3::artifact {
namespace {

constexpr uint32_t kMaxParts = 1000;
constexpr size_t kMaxTensors = size_t{1} << 20U;

std::string five_digits(uint32_t number) {
  std::string text = std::to_string(number);
  if (text.size() < 5) text.insert(0, 5 - text.size(), '0');
  return text;
}

std::string part_of(uint32_t number, uint32_t count) {
  return "part " + std::to_string(number + 1) + " of " + std::to_string(count);
}

}  // namespace

Result<SplitName> SplitName::of(const std::filesystem::path& path, uint32_t count) {
  const std::string name = path.filename().string();
  const std::string ending = "-of-" + five_digits(count) + ".gguf";
  const size_t tail = 6 + ending.size();  // "-00001" before it
  const bool long_enough = name.size() > tail;
  const std::string digits = long_enough ? name.substr(name.size() - tail, 6) : "";
  const bool numbered = long_enough && digits[0] == '-' &&
                        std::all_of(digits.begin() + 1, digits.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!numbered || !name.ends_with(ending)) {
    return invalid(printable(name) + " is one of " + std::to_string(count) +
                       " parts of a model, but not named like one: a name ending in -00001" +
                       ending + " is expected",
                   std::string(kSplitCount));
  }
  return SplitName(path.parent_path() / name.substr(0, name.size() - tail), count);
}

std::filesystem::path SplitName::part(uint32_t number) const {
  std::filesystem::path path = stem_;
  path += "-" + five_digits(number + 1) + "-of-" + five_digits(count_) + ".gguf";
  return path;
}

Result<GgufFile> GgufFile::open_split(const std::filesystem::path& path, uint32_t count) {
  if (count > kMaxParts) {
    return invalid(path.filename().string() + ": the model has " + std::to_string(count) +
                       " parts; at most " + std::to_string(kMaxParts) + " are read",
                   std::string(kSplitCount));
  }
  O3_ASSIGN(const SplitName names, SplitName::of(path, count));
  std::optional<GgufFile> whole;
  for (uint32_t number = 0; number < count; ++number) {
    auto opened = open_one(names.part(number));
    if (!opened.ok()) {
      Error error = std::move(opened).error();
      error.message = part_of(number, count) + " of the model: " + error.message;
      return error;
    }
    GgufFile part = *std::move(opened);
    O3_ASSIGN(const auto its_count, part.optional<uint32_t>(kSplitCount));
    O3_ASSIGN(const auto its_number, part.optional<uint32_t>(kSplitNumber));
    if (its_count != count || its_number != number) {
      return invalid(part.name_ + " does not say that it is " + part_of(number, count),
                     std::string(kSplitNumber));
    }
    if (!whole) {
      whole = std::move(part);
    } else {
      O3_TRY(whole->take_part(std::move(part)));
    }
  }
  O3_TRY(whole->check_split());
  O3_TRY(GgufParser(*whole).index_tensors());
  return *std::move(whole);
}

Result<void> GgufFile::take_part(GgufFile part) {
  if (tensors_.size() + unread_.size() + part.tensors_.size() + part.unread_.size() > kMaxTensors) {
    return invalid(name_ + ": the parts hold more than " + std::to_string(kMaxTensors) +
                   " tensors together");
  }
  tensors_.insert(tensors_.end(), part.tensors_.begin(), part.tensors_.end());
  unread_.insert(unread_.end(), part.unread_.begin(), part.unread_.end());
  others_.push_back(std::move(part));
  return {};
}

Result<void> GgufFile::check_split() const {
  O3_ASSIGN(const auto expected, optional<uint32_t>(kSplitTensors));
  const size_t found = tensors_.size() + unread_.size();
  if (!expected || *expected == found) return {};
  return invalid(name_ + ": the parts hold " + std::to_string(found) + " tensors, " +
                     std::to_string(*expected) + " were announced; are they of one model?",
                 std::string(kSplitTensors));
}

}  // namespace o3::artifact
