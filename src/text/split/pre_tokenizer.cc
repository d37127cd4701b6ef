// SPDX-License-Identifier: Apache-2.0
#include "text/split/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<PreTokenizerPtr> steps) : steps_(std::move(steps)) {}
  void apply(Pieces& pieces) const override {
    for (const PreTokenizerPtr& step : steps_) step->apply(pieces);
  }
  bool asks_origin() const override {
    return std::any_of(steps_.begin(), steps_.end(),
                       [](const PreTokenizerPtr& step) { return step->asks_origin(); });
  }
  double growth() const override {
    double product = 1;
    for (const PreTokenizerPtr& step : steps_) product *= step->growth();
    return product;
  }

 private:
  std::vector<PreTokenizerPtr> steps_;
};

// Receives gaps and matches of one piece from left to right.
class Collector {
 public:
  Collector(SplitBehavior behavior, std::vector<Pieces::Range>& out)
      : behavior_(behavior), out_(out) {}

  void begin_piece() {
    first_ = out_.size();
    previous_match_ = false;
    pending_ = false;
  }
  void add(uint32_t begin, uint32_t end, bool match) {
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!match) push(begin, end);
        break;
      case SplitBehavior::kIsolated:
        push(begin, end);
        break;
      case SplitBehavior::kContiguous:
        join_or_push(match == previous_match_, begin, end);
        break;
      case SplitBehavior::kMergedWithPrevious:
        join_or_push(match && !previous_match_, begin, end);
        break;
      case SplitBehavior::kMergedWithNext:
        // A match waits for the gap behind it; if another match comes first it stands alone.
        if (match) {
          if (pending_) push(pending_range_.begin, pending_range_.end);
          pending_ = true;
          pending_range_ = {begin, end};
          break;
        }
        push(pending_ ? pending_range_.begin : begin, end);
        pending_ = false;
        break;
    }
    previous_match_ = match;
  }
  void end_piece() {
    if (pending_) push(pending_range_.begin, pending_range_.end);
  }

 private:
  void push(uint32_t begin, uint32_t end) {
    if (begin != end) out_.push_back({begin, end});
  }
  void join_or_push(bool join, uint32_t begin, uint32_t end) {
    if (join && out_.size() > first_) {
      out_.back().end = end;
    } else {
      push(begin, end);
    }
  }

  SplitBehavior behavior_;
  std::vector<Pieces::Range>& out_;
  size_t first_ = 0;
  bool previous_match_ = false;
  bool pending_ = false;
  Pieces::Range pending_range_{};
};

class RegexSplit final : public PreTokenizer {
 public:
  RegexSplit(Regex pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    pieces.scratch.clear();
    Collector collector(behavior_, pieces.scratch);
    for (const Pieces::Range range : pieces.ranges) {
      RegexScanner scanner(pattern_, pieces.at(range));
      collector.begin_piece();
      uint32_t done = range.begin;
      for (auto m = scanner.next(); m.begin != RegexScanner::kNone; m = scanner.next()) {
        const uint32_t begin = range.begin + static_cast<uint32_t>(m.begin);
        const uint32_t end = range.begin + static_cast<uint32_t>(m.end);
        if (done != begin) collector.add(done, begin, invert_);
        collector.add(begin, end, !invert_);
        done = end;
      }
      if (done != range.end) collector.add(done, range.end, invert_);
      collector.end_piece();
    }
    pieces.ranges.swap(pieces.scratch);
  }

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

// Builds the next text of `pieces` piece by piece.
class Rewriter {
 public:
  explicit Rewriter(Pieces& pieces) : pieces_(pieces) {
    text_.reserve(pieces.text.size() + pieces.text.size() / 4);
    pieces.scratch.clear();
  }
  std::string& text() { return text_; }
  uint32_t size() const { return static_cast<uint32_t>(text_.size()); }
  void add(uint32_t begin, uint32_t end) {
    if (begin != end) pieces_.scratch.push_back({begin, end});
  }
  void finish() {
    pieces_.owned = std::move(text_);
    pieces_.text = pieces_.owned;
    pieces_.ranges.swap(pieces_.scratch);
  }

 private:
  Pieces& pieces_;
  std::string text_;
};

class Metaspace final : public PreTokenizer {
 public:
  Metaspace(std::string replacement, Prepend prepend, bool split)
      : replacement_(std::move(replacement)), prepend_(prepend), split_(split) {}

  bool asks_origin() const override { return prepend_ == Prepend::kFirst; }
  double growth() const override { return 1 + static_cast<double>(replacement_.size()); }

  void apply(Pieces& pieces) const override {
    Rewriter out(pieces);
    for (const Pieces::Range range : pieces.ranges) {
      const uint32_t begin = out.size();
      const std::string_view piece = pieces.at(range);
      const bool starts = piece[0] == ' ' || piece.starts_with(replacement_);
      const bool origin = pieces.at_origin && range.begin == 0;
      const bool wanted = prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && origin);
      if (wanted && !starts) out.text() += replacement_;
      for (const char c : piece) {
        if (c == ' ') {
          out.text() += replacement_;
        } else {
          out.text() += c;
        }
      }
      if (split_) {
        cut(out, begin);
      } else {
        out.add(begin, out.size());
      }
    }
    out.finish();
  }

 private:
  // Each piece but perhaps the first begins with a replacement. A run of them: one piece each.
  void cut(Rewriter& out, uint32_t begin) const {
    uint32_t done = begin;
    for (size_t at = out.text().find(replacement_, begin); at != std::string::npos;
         at = out.text().find(replacement_, at + replacement_.size())) {
      out.add(done, static_cast<uint32_t>(at));
      done = static_cast<uint32_t>(at);
    }
    out.add(done, out.size());
  }

  std::string replacement_;
  Prepend prepend_;
  bool split_;
};

class PrefixSpace final : public PreTokenizer {
 public:
  double growth() const override { return 2; }
  void apply(Pieces& pieces) const override {
    Rewriter out(pieces);
    for (const Pieces::Range range : pieces.ranges) {
      const uint32_t begin = out.size();
      const std::string_view piece = pieces.at(range);
      if (piece[0] != ' ') out.text() += ' ';
      out.text() += piece;
      out.add(begin, out.size());
    }
    out.finish();
  }
};

class ByteAlphabet final : public PreTokenizer {
 public:
  ByteAlphabet() {
    for (size_t byte = 0; byte < written_.size(); ++byte) {
      append_utf8(alphabet_character(static_cast<uint8_t>(byte)), written_[byte]);
    }
  }
  void apply(Pieces& pieces) const override {
    Rewriter out(pieces);
    for (const Pieces::Range range : pieces.ranges) {
      const uint32_t begin = out.size();
      for (const char c : pieces.at(range)) out.text() += written_[static_cast<uint8_t>(c)];
      out.add(begin, out.size());
    }
    out.finish();
    pieces.mapped = true;
  }
  double growth() const override { return 2; }

 private:
  std::array<std::string, 256> written_;
};

}  // namespace

PreTokenizerPtr pre_tokenizer_sequence(std::vector<PreTokenizerPtr> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}
PreTokenizerPtr regex_split(Regex pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<RegexSplit>(std::move(pattern), behavior, invert);
}
PreTokenizerPtr metaspace(std::string replacement, Prepend prepend, bool split) {
  return std::make_unique<Metaspace>(std::move(replacement), prepend, split);
}
PreTokenizerPtr prefix_space() {
  return std::make_unique<PrefixSpace>();
}
PreTokenizerPtr byte_alphabet() {
  return std::make_unique<ByteAlphabet>();
}

}  // namespace o3::text
