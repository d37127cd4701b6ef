// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "api/openai/answer.h"

namespace o3::api::openai {
namespace {

struct Candidate {
  std::string echo;
  ScoredPrompt prompt;
  std::string text;
  std::vector<ScoredToken> tokens;
  ChoiceEnd end;

  double mean_logprob() const {
    double sum = 0.0;
    for (const ScoredToken& token : tokens) sum += token.scores.logprob;
    return tokens.empty() ? 0.0 : sum / static_cast<double>(tokens.size());
  }
};

class BestOfAnswer final : public Answer {
 public:
  BestOfAnswer(std::unique_ptr<Answer> inner, size_t best_of, size_t n)
      : inner_(std::move(inner)), best_of_(best_of), n_(n) {}

  void begin() override { inner_->begin(); }
  bool prompt(size_t choice, std::string_view echo, const ScoredPrompt& scored) override {
    candidate(choice).echo = echo;
    candidate(choice).prompt = scored;
    return true;
  }
  bool piece(size_t choice, const Piece& piece, const Usage& /*so_far*/) override {
    candidate(choice).text += piece.text;
    auto& tokens = candidate(choice).tokens;
    tokens.insert(tokens.end(), piece.tokens.begin(), piece.tokens.end());
    return true;
  }
  bool end_choice(size_t choice, const ChoiceEnd& end, const Usage& /*so_far*/) override {
    candidate(choice).end = end;
    return true;
  }
  bool finish(const Usage& usage) override {
    for (size_t group = 0; group * best_of_ < candidates_.size(); ++group) {
      if (!hand_on(group, usage)) return false;
    }
    return inner_->finish(usage);
  }
  void complete() override { inner_->complete(); }
  void fail(const ApiError& error) override { inner_->fail(error); }
  void tick(Nanoseconds now) override { inner_->tick(now); }

 private:
  Candidate& candidate(size_t choice) {
    if (choice >= candidates_.size()) candidates_.resize(choice + 1);
    return candidates_[choice];
  }

  bool hand_on(size_t group, const Usage& usage) {
    std::vector<size_t> order(best_of_);
    std::iota(order.begin(), order.end(), group * best_of_);
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](size_t i) { return candidate(i).mean_logprob(); });
    for (size_t i = 0; i < n_; ++i) {
      const Candidate& best = candidate(order[i]);
      const size_t choice = group * n_ + i;
      const bool taken = inner_->prompt(choice, best.echo, best.prompt) &&
                         inner_->piece(choice, {best.text, best.tokens}, usage) &&
                         inner_->end_choice(choice, best.end, usage);
      if (!taken) return false;
    }
    return true;
  }

  const std::unique_ptr<Answer> inner_;
  const size_t best_of_;
  const size_t n_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::unique_ptr<Answer> make_best_of_answer(std::unique_ptr<Answer> inner, size_t best_of,
                                            size_t n) {
  return std::make_unique<BestOfAnswer>(std::move(inner), best_of, n);
}

}  // namespace o3::api::openai
