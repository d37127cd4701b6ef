// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "text/normalize/normalizer.h"

namespace o3::text {
namespace {

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {}
  void apply(MarkedText& text) const override {
    for (const NormalizerPtr& step : steps_) {
      if (!step->keeps(text.text)) step->apply(text);
    }
  }
  bool keeps(std::string_view text) const override {
    return std::all_of(steps_.begin(), steps_.end(),
                       [text](const NormalizerPtr& step) { return step->keeps(text); });
  }
  double most_bytes(double bytes) const override {
    double most = bytes;  // of any step: each holds a whole text
    for (const NormalizerPtr& step : steps_) {
      bytes = step->most_bytes(bytes);
      most = std::max(most, bytes);
    }
    return most;
  }

 private:
  std::vector<NormalizerPtr> steps_;
};

}  // namespace

NormalizerPtr normalizer_sequence(std::vector<NormalizerPtr> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}

}  // namespace o3::text
