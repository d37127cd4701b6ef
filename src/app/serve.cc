// SPDX-License-Identifier: Apache-2.0
#include "app/serve.h"

#include <prometheus/registry.h>

#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "api/server.h"
#include "app/desktop.h"
#include "app/interrupt.h"
#include "app/key_watch.h"
#include "app/model_entries.h"
#include "app/model_host.h"
#include "app/runtime_options.h"
#include "app/start_report.h"
#include "app/state_dir.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/serve_settings.h"
#include "engine/engine.h"
#include "govern/audit.h"
#include "govern/key_store.h"
#include "govern/live_keys.h"
#include "govern/page_token.h"
#include "govern/quota.h"

namespace o3::app {
namespace {

namespace rows = config::serve;

constexpr int32_t kCudaStepRows = 2048;  // a GPU is busy with many rows only

engine::InstanceOptions instance_options(const config::Snapshot& settings,
                                         const device::Backend& backend) {
  engine::InstanceOptions options;
  options.share_prefixes = settings.text(rows::kPrefixCache) != "off";
  options.max_running = static_cast<int32_t>(settings.integer(rows::kMaxRunning));
  if (backend.kind() == device::BackendKind::kCuda) options.max_step_rows = kCudaStepRows;
  return options;
}

// Keys of DATA_DIR/keys.json, or none with --no-auth.
Result<govern::KeyStore::Opened> open_keys(const config::Snapshot& settings, const Clock& clock) {
  if (settings.flag(rows::kNoAuth)) {
    return govern::KeyStore::Opened{govern::KeyStore({}), {}, std::nullopt};
  }
  O3_ASSIGN(const std::filesystem::path directory, state_dir(settings.text(rows::kDataDir)));
  return govern::KeyStore::open(directory, clock);
}

// A setting whose text is one of a few words.
Result<void> check_choice(const config::Snapshot& settings, const config::Setting& row,
                          std::initializer_list<std::string_view> words) {
  const std::string& given = settings.text(row);
  std::string all;
  for (const std::string_view word : words) {
    if (word == given) return {};
    all.append(all.empty() ? "" : ", ").append(word);
  }
  return invalid(std::string(row.name) + " is one of " + all + "; not '" + given + "'",
                 std::string(row.name));
}

Result<void> check_choices(const config::Snapshot& settings) {
  O3_TRY(check_choice(settings, rows::kPrefixCache, {"tenant", "all", "off"}));
  O3_TRY(check_choice(settings, rows::kCompute, {"fast", "f32"}));
  O3_TRY(check_choice(settings, rows::kKv, {"auto", "f16", "f32", "bf16", "fp8"}));
  return check_choice(settings, rows::kWeights, {"file", "fp8"});
}

RuntimeOptions runtime_options(const config::Snapshot& settings) {
  RuntimeOptions runtime;
  runtime.device = settings.text(rows::kDevice);
  runtime.threads = static_cast<int>(settings.integer(rows::kThreads));
  runtime.compute = settings.text(rows::kCompute);
  if (settings.text(rows::kKv) != "auto") runtime.kv = settings.text(rows::kKv);
  runtime.weights = settings.text(rows::kWeights);
  return runtime;
}

bool listens_everywhere(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

std::string address_of(const std::string& host, uint16_t port, bool tls) {
  std::string name = listens_everywhere(host) ? "127.0.0.1" : host;
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  return (tls ? "https://" : "http://") + name + ":" + std::to_string(port);
}

// Nobody could ever use a key that was not shown: the next start makes another one.
Error forget_new_key(const govern::KeyStore::Opened& keys, Error error) {
  std::error_code ignored;
  if (keys.new_key.has_value()) std::filesystem::remove(keys.file, ignored);
  return error;
}

void serve_until(std::future<void> signalled, api::Server& server,
                 std::chrono::milliseconds drain_timeout) {
  server.set_ready(true);
  signalled.wait();
  server.set_ready(false);
  server.drain(drain_timeout);
}

}  // namespace

Result<void> serve(const config::Snapshot& settings, const ServeOutput& output) {
  Interrupt interrupt;  // before the first thread; until there is a key to show, it ends at once
  std::signal(SIGPIPE, SIG_IGN);  // a log's reader that went away must not end running answers
  if (!log::set_level(settings.text(rows::kLogLevel))) {
    return invalid(
        "log_level is debug, info, warn or error, not '" + settings.text(rows::kLogLevel) + "'",
        "log_level");
  }
  O3_TRY(check_choices(settings));
  const SystemClock clock;
  O3_ASSIGN(std::vector<ModelEntry> entries, model_entries(settings));

  const RuntimeOptions runtime = runtime_options(settings);
  O3_ASSIGN(const auto backend, make_backend(runtime));
  prometheus::Registry registry;
  engine::EngineMetrics metrics(registry);
  const auto max_waiting = static_cast<int32_t>(settings.integer(rows::kMaxWaiting));
  O3_ASSIGN(const auto engine,
            engine::Engine::create({.max_waiting = max_waiting}, clock, metrics));
  api::ModelTable models;
  ModelHost host({clock, *backend, *engine, models},
                 {.load = load_options(runtime),
                  .instance = instance_options(settings, *backend),
                  .kv_bytes = settings.integer(rows::kMemory),
                  .trust_assistant = settings.flag(rows::kTrustAssistant),
                  .unload_timeout = settings.millis(rows::kDrainTimeout)},
                 std::move(entries));
  O3_TRY(host.load_at_start());

  O3_ASSIGN(const govern::PageToken page_token, govern::PageToken::create());

  std::promise<void> signalled;
  const auto stopping = interrupt.handle([&signalled] {
    log::info("stopping: running answers finish first; a second signal ends at once");
    signalled.set_value();
  });
  O3_ASSIGN(const govern::KeyStore::Opened keys, open_keys(settings, clock));
  govern::UnlimitedQuota quota;
  govern::NoAudit audit;
  govern::LiveKeys live_keys(keys.store, keys.file);
  std::optional<KeyWatch> watch;
  if (!keys.file.empty()) watch.emplace(live_keys);
  const api::ServerParts parts{clock,      *engine, models, registry, live_keys,
                               page_token, quota,   audit,  &host};
  auto server = api::Server::create(api::ServerOptions::from(settings), parts);
  if (!server.ok()) {
    const Result<void> shown = print_new_key(keys, output.json);
    return shown.ok() ? std::move(server).error() : forget_new_key(keys, std::move(server).error());
  }

  log::info("not in this version: audit log, limits per tenant");
  const std::string& address = settings.text(rows::kHost);
  StartReport start{
      .address = address_of(address, (*server)->port(), !settings.text(rows::kTlsCert).empty())};
  start.everywhere = listens_everywhere(address);
  start.page = start.address + "/#token=" + page_token.text().reveal();
  const Result<void> shown = print(start, keys, output.json);
  if (!shown.ok()) return forget_new_key(keys, shown.error());
  std::optional<OpenedPage> opened;
  if (output.open_page) opened.emplace(start.page);
  serve_until(signalled.get_future(), **server, settings.millis(rows::kDrainTimeout));
  return {};
}

}  // namespace o3::app
