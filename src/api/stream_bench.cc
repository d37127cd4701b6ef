// SPDX-License-Identifier: Apache-2.0
// Many open streams with a null model: one delta a second each. The server runs in this process,
// the clients in a child.
//   stream_bench [STREAMS [SECONDS]]     prints one JSON object; exit code 1 when a stream broke,
//                                        memory stayed or took more than it may (delays only show)
// Every delta is the time at which the engine gave it, so the clients know how long it took.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "api/server.h"
#include "api/testing/fake_text.h"
#include "api/testing/raw_client.h"

namespace o3::api::testing {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kKey = "o3-key-of-the-stream-benchmark";
constexpr size_t kStampDigits = 16;
constexpr int64_t kMostBytes = 300'000'000;  // spec: of 5,000 streams
constexpr double kMostSeconds = 1.0;         // until the server knows that clients have vanished
constexpr int kPhases = 100;  // of a second: so many streams get their delta at a time

int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// Gives each running request one delta a second, a stamp, until it is cancelled.
class StampEngine final : public engine::EngineClient {
 public:
  StampEngine() : thread_([this] { run(); }) {}
  ~StampEngine() override {
    stop_ = true;
    thread_.join();
  }
  Result<void> submit(std::shared_ptr<const engine::Request> request,
                      std::shared_ptr<engine::DeltaSink> sink) override {
    const std::lock_guard lock(mutex_);
    running_.emplace(request->id, std::move(sink));
    return {};
  }
  void cancel(RequestId id) noexcept override {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(id);
  }
  engine::InstanceInfo instance(engine::InstanceId) const override { return {1 << 20, 259}; }
  bool ready() const noexcept override { return true; }
  size_t running() {
    const std::lock_guard lock(mutex_);
    return running_.size();
  }

 private:
  using Batches = std::map<std::shared_ptr<engine::DeltaSink>, std::vector<engine::Delta>>;

  void run() {
    auto next = std::chrono::steady_clock::now();
    for (uint64_t phase = 0; !stop_; ++phase) {
      Batches batches = step(phase % kPhases);
      for (auto& [sink, deltas] : batches) sink->deliver(std::move(deltas));
      next += milliseconds(1000 / kPhases);
      std::this_thread::sleep_until(next);
    }
  }
  Batches step(uint64_t phase) {
    std::array<char, kStampDigits + 1> stamp{};
    std::snprintf(stamp.data(), stamp.size(), "%016llx", static_cast<unsigned long long>(now_ns()));
    const std::vector<Token> tokens = tokens_of({stamp.data(), kStampDigits});
    Batches batches;
    const std::lock_guard lock(mutex_);
    for (const auto& [id, sink] : running_) {
      if (id.value % kPhases == phase)
        batches[sink].push_back({.id = id, .tokens = tokens, .finish = {}});
    }
    for (const RequestId id : cancelled_) {
      const auto found = running_.find(id);
      if (found == running_.end()) continue;
      engine::Delta end{.id = id, .tokens = {}, .finish = {}};
      end.finish = engine::Finish{.outcome = Outcome::kCancelled, .error = std::nullopt};
      batches[found->second].push_back(std::move(end));
      running_.erase(found);
    }
    cancelled_.clear();
    return batches;
  }

  std::mutex mutex_;
  std::map<RequestId, std::shared_ptr<engine::DeltaSink>> running_;
  std::vector<RequestId> cancelled_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// What the child finds out, told through a pipe.
struct Report {
  double p50_ms = 0.0;
  double p99_ms = 0.0;
  double most_ms = 0.0;
  uint64_t deltas = 0;
  uint64_t broken = 0;  // streams that ended
};

class Clients {
 public:
  Clients(uint16_t port, int streams) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    const std::string body =
        R"({"model":"null","stream":true,"messages":[{"role":"user","content":"hi"}]})";
    const std::string request =
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
        "\r\nAuthorization: Bearer " +
        std::string(kKey) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
        body;
    for (int i = 0; i < streams; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
          ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
        ++report_.broken;
        continue;
      }
      ::fcntl(fd, F_SETFL, O_NONBLOCK);
      epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
      open_.push_back(fd);
    }
  }

  // Reads for so long; `count`: the delays are kept.
  void read_for(milliseconds time, bool count) {
    const int64_t end = now_ns() + std::chrono::nanoseconds(time).count();
    std::array<epoll_event, 256> events{};
    while (now_ns() < end) {
      const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 10);
      const int64_t seen = now_ns();
      for (int i = 0; i < ready; ++i) read(events[static_cast<size_t>(i)].data.fd, seen, count);
    }
  }
  void close_half() {
    for (size_t i = 0; i < open_.size() / 2; ++i) ::close(open_[i]);
    open_.erase(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(open_.size() / 2));
  }
  Report report() {
    std::ranges::sort(delays_ms_);
    report_.deltas = delays_ms_.size();
    if (delays_ms_.empty()) return report_;
    report_.p50_ms = delays_ms_[delays_ms_.size() / 2];
    report_.p99_ms = delays_ms_[delays_ms_.size() * 99 / 100];
    report_.most_ms = delays_ms_.back();
    return report_;
  }

 private:
  void read(int fd, int64_t seen, bool count) {
    std::array<char, 16384> buffer{};
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
      ++report_.broken;
      return;
    }
    if (!count) return;
    // A chunk is small and comes whole.
    constexpr std::string_view kMark = "\"content\":\"";
    const std::string_view text(buffer.data(), static_cast<size_t>(got));
    for (size_t at = text.find(kMark); at != std::string_view::npos;
         at = text.find(kMark, at + 1)) {
      const std::string stamp(text.substr(at + kMark.size(), kStampDigits));
      if (stamp.size() < kStampDigits || stamp[0] != '0') continue;  // the role's delta
      const auto given = static_cast<int64_t>(std::strtoull(stamp.c_str(), nullptr, 16));
      delays_ms_.push_back(static_cast<double>(seen - given) / 1e6);
    }
  }

  int epoll_;
  std::vector<int> open_;
  std::vector<double> delays_ms_;
  Report report_;
};

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  int64_t resident = 0;
  file >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

template <class Done>
double seconds_until(const Done& done, double most) {
  const int64_t start = now_ns();
  while (!done() && static_cast<double>(now_ns() - start) / 1e9 < most) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return static_cast<double>(now_ns() - start) / 1e9;
}

// Whether the system allows so many files.
bool raise_descriptors(int streams) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         limit.rlim_cur >= static_cast<rlim_t>(streams) + 200;
}

// The child reads one byte for each part of its work, and writes its report after the first.
int clients(int commands, int reports, int streams, int seconds) {
  uint16_t port = 0;
  if (::read(commands, &port, sizeof port) != sizeof port) return 1;
  Clients all(port, streams);
  all.read_for(milliseconds(3000), false);
  all.read_for(milliseconds(1000 * seconds), true);
  const Report report = all.report();
  if (::write(reports, &report, sizeof report) != sizeof report) return 1;
  char go = 0;
  if (::read(commands, &go, 1) != 1) return 1;
  all.close_half();
  all.read_for(milliseconds(1500), false);
  return 0;  // the others vanish with the process
}

int serve(int commands, int reports, pid_t child, int streams) {
  const SystemClock clock;
  StampEngine engine;
  prometheus::Registry registry;
  const govern::KeyStore keys({{.id = "bench",
                                .sha256 = govern::KeyDigest::of(kKey),
                                .created = "2030-01-01T00:00:00Z",
                                .tenant = "t",
                                .models = {"*"}}});
  const auto page_token = *govern::PageToken::create();
  govern::UnlimitedQuota quota;
  govern::NoAudit audit;
  ModelTable models;
  auto model = std::make_shared<ServedModel>();
  model->id = "null";
  model->tokenizer = std::make_shared<ByteTokenizer>();
  model->render = render_plain;
  model->context = 1 << 20;
  if (!models.add(model).ok()) return 1;
  ServerOptions options;
  options.http.io_threads = 2;
  auto server = Server::create(
      options, {clock, engine, models, registry, keys, page_token, quota, audit, nullptr, {}});
  if (!server.ok()) {
    std::fprintf(stderr, "error: %s\n", server.error().message.c_str());
    return 1;
  }
  (*server)->set_ready(true);
  const int64_t idle = resident_bytes();
  const uint16_t port = (*server)->port();
  Report report;
  if (::write(commands, &port, sizeof port) != sizeof port) return 1;
  if (::read(reports, &report, sizeof report) != sizeof report) return 1;
  const size_t opened = engine.running();
  const int64_t resident = resident_bytes();
  if (::write(commands, "h", 1) != 1) return 1;
  const double half = seconds_until([&] { return engine.running() <= opened - opened / 2; }, 10);
  ::waitpid(child, nullptr, 0);
  const double rest = seconds_until([&] { return engine.running() == 0; }, 10);
  std::printf(
      "{\"streams\": %d, \"opened\": %zu, \"deltas\": %llu, \"broken\": %llu, \"p50_ms\": %.2f, "
      "\"p99_ms\": %.2f, \"most_ms\": %.2f, \"idle_bytes\": %lld, \"resident_bytes\": %lld, "
      "\"half_gone_s\": %.3f, \"all_gone_s\": %.3f}\n",
      streams, opened, static_cast<unsigned long long>(report.deltas),
      static_cast<unsigned long long>(report.broken), report.p50_ms, report.p99_ms, report.most_ms,
      static_cast<long long>(idle), static_cast<long long>(resident), half, rest);
  const bool held = opened == static_cast<size_t>(streams) && report.broken == 0 &&
                    resident <= kMostBytes && half <= kMostSeconds && rest <= kMostSeconds;
  return held ? 0 : 1;
}

}  // namespace
}  // namespace o3::api::testing

int main(int argc, char** argv) {
  using namespace o3::api::testing;
  const int streams = argc > 1 ? std::atoi(argv[1]) : 5000;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 10;
  if (streams < 1 || seconds < 1) {
    std::fprintf(stderr, "usage: stream_bench [STREAMS [SECONDS]]\n");
    return 2;
  }
  if (!raise_descriptors(streams)) {
    std::fprintf(stderr, "skipped: the hard limit of open files is too low\n");
    return 77;
  }
  std::array<int, 2> commands{};
  std::array<int, 2> reports{};
  if (::pipe(commands.data()) != 0 || ::pipe(reports.data()) != 0) return 1;
  const pid_t child = ::fork();  // before the first thread
  if (child == 0) ::_exit(clients(commands[0], reports[1], streams, seconds));
  return serve(commands[1], reports[0], child, streams);
}
