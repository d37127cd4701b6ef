// SPDX-License-Identifier: Apache-2.0
// For tests only: an engine that plays a script on its own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/engine_client.h"

namespace o3::api::testing {

struct Script {
  std::vector<std::vector<Token>> steps{};  // tokens of each step
  bool endless = false;                     // the last step repeats until cancelled
  std::chrono::microseconds pause{0};       // between steps
  Outcome outcome = Outcome::kStop;
  std::optional<Error> error{};  // of the finish
  std::optional<Token> stop_token{};
  std::optional<Error> refusal{};  // of submit()
  int32_t cached_tokens = 0;
};

class FakeEngine final : public engine::EngineClient {
 public:
  using Play = std::function<Script(const engine::Generate&)>;
  FakeEngine() : thread_([this] { run(); }) {}
  ~FakeEngine() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

  void play(Play play) {
    const std::lock_guard lock(mutex_);
    play_ = std::move(play);
  }

  Result<void> submit(std::shared_ptr<const engine::Request> request,
                      std::shared_ptr<engine::DeltaSink> sink) override {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    Script script = play_(std::get<engine::Generate>(request->work));
    if (script.refusal) return *script.refusal;
    running_[request->id] = {request, std::move(sink), std::move(script), 0, 0, false};
    changed_.notify_all();
    return {};
  }
  void cancel(RequestId id) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(id);
    if (found != running_.end()) cancelled_ = found->second.cancelled = true;
    ++cancels_;
    changed_.notify_all();
  }
  engine::InstanceInfo instance(engine::InstanceId /*id*/) const override { return {1024, 258}; }
  bool ready() const noexcept override { return ready_; }

  void set_ready(bool ready) { ready_ = ready; }
  // Requests that have no finish yet.
  size_t running() {
    const std::lock_guard lock(mutex_);
    return running_.size();
  }
  int cancels() {
    const std::lock_guard lock(mutex_);
    return cancels_;
  }
  std::vector<std::shared_ptr<const engine::Request>> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  template <class Done>
  bool wait(Done done, std::chrono::milliseconds most = std::chrono::seconds(5)) {
    const SystemClock clock;
    const Nanoseconds end = clock.monotonic() + most;
    while (clock.monotonic() < end) {
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return done();
  }

 private:
  struct Run {
    std::shared_ptr<const engine::Request> request;
    std::shared_ptr<engine::DeltaSink> sink;
    Script script;
    size_t next = 0;
    int32_t tokens = 0;
    bool cancelled = false;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      if (running_.empty()) {
        changed_.wait(lock);
        continue;
      }
      std::map<engine::DeltaSink*,
               std::pair<std::shared_ptr<engine::DeltaSink>, std::vector<engine::Delta>>>
          batches;
      std::chrono::microseconds pause{0};
      for (auto it = running_.begin(); it != running_.end();) {
        auto& batch = batches[it->second.sink.get()];
        batch.first = it->second.sink;
        batch.second.push_back(step(it->second));
        pause = std::max(pause, it->second.script.pause);
        it = batch.second.back().finish ? running_.erase(it) : std::next(it);
      }
      lock.unlock();
      for (auto& [key, batch] : batches) batch.first->deliver(std::move(batch.second));
      lock.lock();
      // New requests wait for the next step; a cancelled one ends at once.
      const auto urgent = [this] { return stop_ || cancelled_; };
      if (pause.count() > 0) changed_.wait_for(lock, pause, urgent);
      cancelled_ = false;
    }
  }

  // `top` letters from A on beside the token.
  static engine::TokenLogprobs scores(Token token, int32_t top, float logprob) {
    engine::TokenLogprobs made{.logprob = logprob, .rank = 1, .top = {}};
    for (int32_t i = 0; i < top; ++i) made.top.push_back({i == 0 ? token : 'A' + i, logprob - i});
    return made;
  }

  static engine::Delta step(Run& run) {
    engine::Delta delta{.id = run.request->id, .tokens = {}, .finish = {}};
    delta.cached_tokens = run.script.cached_tokens;
    const auto& work = std::get<engine::Generate>(run.request->work);
    if (run.next == 0 && run.tokens == 0 && work.prompt_logprobs) {
      for (size_t i = 1; i < work.prompt.size(); ++i) {
        delta.prompt_logprobs.push_back(scores(work.prompt[i], *work.prompt_logprobs, -2.0F));
      }
    }
    if (!run.cancelled && run.next < run.script.steps.size()) {
      delta.tokens = run.script.steps[run.next];
      run.tokens += static_cast<int32_t>(delta.tokens.size());
      for (const Token token : delta.tokens) {
        if (!work.logprobs) break;
        // The later a choice, the likelier its tokens.
        const auto choice = static_cast<float>(work.sampling.choice);
        delta.logprobs.push_back(scores(token, *work.logprobs, -1.0F / (1.0F + choice)));
      }
      if (!run.script.endless || run.next + 1 < run.script.steps.size()) ++run.next;
    }
    if (run.cancelled || run.next >= run.script.steps.size()) {
      const size_t prompt = work.prompt.size();
      delta.finish =
          engine::Finish{.outcome = run.cancelled ? Outcome::kCancelled : run.script.outcome,
                         .error = run.cancelled ? std::nullopt : run.script.error,
                         .prompt_tokens = static_cast<int32_t>(prompt),
                         .completion_tokens = run.tokens,
                         .stop_token = run.script.stop_token};
    }
    return delta;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Play play_ = [](const engine::Generate&) { return Script{}; };
  std::map<RequestId, Run> running_;
  std::vector<std::shared_ptr<const engine::Request>> requests_;
  int cancels_ = 0;
  std::atomic<bool> ready_{true};
  bool cancelled_ = false;  // since the last step
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace o3::api::testing
