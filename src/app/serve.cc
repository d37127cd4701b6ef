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
#include "app/kv_budget.h"
#include "app/runtime_options.h"
#include "app/start_report.h"
#include "app/state_dir.h"
#include "artifact/hf/hf_directory.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/serve_settings.h"
#include "engine/engine.h"
#include "govern/audit.h"
#include "govern/key_store.h"
#include "govern/page_token.h"
#include "govern/quota.h"
#include "loader/loaded_model.h"
#include "text/json/json_constraint.h"

namespace o3::app {
namespace {

namespace rows = config::serve;

constexpr int32_t kCudaStepRows = 2048;  // a GPU is busy with many rows only

struct NamedPath {
  std::string name;
  std::string path;
};

// A directory's name may have dots ("Qwen2.5-0.5B").
std::string name_of(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? artifact::directory_name(path)
                                                    : path.stem().string();
}

// NAME=PATH, or a path whose name is the model's; one model for now, because the engine
// holds one instance.
Result<NamedPath> model_to_serve(const config::Snapshot& settings) {
  const auto& models = settings.list(rows::kModels);
  if (models.empty()) return invalid("give a model to serve: --model [NAME=]PATH", "models");
  if (models.size() > 1) {
    return unsupported("this build serves one model per process; start one server per model",
                       "models");
  }
  const std::string& text = models.front();
  const size_t equals = text.find('=');
  NamedPath named{.name = name_of(text), .path = text};
  if (equals != std::string::npos) {
    named = {.name = text.substr(0, equals), .path = text.substr(equals + 1)};
  }
  if (named.name.empty() || named.path.empty()) {
    return invalid("--model takes NAME=PATH or PATH, not '" + text + "'", "models");
  }
  O3_TRY(api::check_model_id(named.name));
  return named;
}

// ALIAS or ALIAS=NAME; NAME is the model's.
Result<std::vector<std::string>> aliases_of(const config::Snapshot& settings,
                                            const std::string& model) {
  std::vector<std::string> aliases;
  for (const std::string& text : settings.list(rows::kAliases)) {
    const size_t equals = text.find('=');
    if (equals != std::string::npos && text.substr(equals + 1) != model) {
      std::string why = "--alias " + text;
      why.append(" is for a model that is not served; ").append(model).append(" is");
      return invalid(std::move(why), "aliases");
    }
    Result<void> checked = api::check_model_id(text.substr(0, equals));
    if (!checked.ok()) {
      Error error = std::move(checked).error();
      error.param = "aliases";
      return error;
    }
    aliases.push_back(text.substr(0, equals));
  }
  return aliases;
}

Result<std::unique_ptr<engine::Engine>> make_engine(const config::Snapshot& settings,
                                                    const loader::LoadedModel& loaded,
                                                    device::Backend& backend, const Clock& clock,
                                                    engine::EngineMetrics& metrics) {
  engine::EngineOptions options;
  options.max_running = static_cast<int32_t>(settings.integer(rows::kMaxRunning));
  options.max_waiting = static_cast<int32_t>(settings.integer(rows::kMaxWaiting));
  options.kv_bytes = settings.integer(rows::kMemory);
  if (backend.kind() == device::BackendKind::kCuda) options.max_step_rows = kCudaStepRows;
  if (options.kv_bytes == 0) {
    options.kv_bytes = default_kv_bytes(*loaded.model, options.page_tokens, backend);
  }
  auto engine = engine::Engine::create(options, backend, loaded.model, clock, metrics);
  if (engine.ok() || engine.error().param != "kv_bytes") return engine;
  Error error = std::move(engine).error();
  error.param = rows::kMemory.name;
  return error;
}

Result<std::shared_ptr<const api::ServedModel>> served(const NamedPath& named,
                                                       const std::vector<std::string>& aliases,
                                                       const loader::LoadedModel& loaded,
                                                       const engine::InstanceInfo& instance,
                                                       const Clock& clock) {
  auto model = std::make_shared<api::ServedModel>();
  model->id = named.name;
  model->aliases = aliases;
  model->created = std::chrono::duration_cast<std::chrono::seconds>(clock.wall()).count();
  model->tokenizer = loaded.tokenizer;
  model->context = instance.context;
  model->stop_tokens = loaded.stop_tokens;
  if (const auto infill = loader::infill_tokens(*loaded.tokenizer)) {
    model->infill = {infill->prefix, infill->suffix, infill->middle};
  }
  auto json_object = text::json_object_constraints(*loaded.tokenizer);
  if (json_object.ok()) {
    model->json_object = *std::move(json_object);
  } else {
    log::warn("no response_format json_object: {}", json_object.error().message);
  }
  if (loaded.chat_template != nullptr) {
    model->render = [loaded, &clock](const api::Conversation& conversation) {
      text::RenderInput input;
      input.messages = conversation.messages;
      input.add_generation_prompt = conversation.add_generation_prompt;
      input.request = conversation.arguments;
      return loader::render_chat(loaded, std::move(input), clock);
    };
  } else {
    log::warn("no chat: {}", loaded.no_template.message);
  }
  return std::shared_ptr<const api::ServedModel>(std::move(model));
}

// Keys of DATA_DIR/keys.json, or none with --no-auth.
Result<govern::KeyStore::Opened> open_keys(const config::Snapshot& settings, const Clock& clock) {
  if (settings.flag(rows::kNoAuth)) {
    return govern::KeyStore::Opened{govern::KeyStore({}), {}, std::nullopt};
  }
  O3_ASSIGN(const std::filesystem::path directory, state_dir(settings.text(rows::kDataDir)));
  return govern::KeyStore::open(directory, clock);
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
  const SystemClock clock;
  O3_ASSIGN(const NamedPath named, model_to_serve(settings));
  O3_ASSIGN(const std::vector<std::string> aliases, aliases_of(settings, named.name));

  RuntimeOptions runtime;
  runtime.device = settings.text(rows::kDevice);
  runtime.threads = static_cast<int>(settings.integer(rows::kThreads));
  O3_ASSIGN(const auto backend, make_backend(runtime));
  O3_ASSIGN(loader::LoadedModel loaded,
            loader::load_model_file(named.path, *backend, load_options(runtime)));
  loaded.trust_assistant = settings.flag(rows::kTrustAssistant);
  prometheus::Registry registry;
  engine::EngineMetrics metrics(registry);
  O3_ASSIGN(const auto engine, make_engine(settings, loaded, *backend, clock, metrics));

  O3_ASSIGN(const auto model, served(named, aliases, loaded, engine->instance({}), clock));
  O3_ASSIGN(const govern::PageToken page_token, govern::PageToken::create());

  std::promise<void> signalled;
  const auto stopping = interrupt.handle([&signalled] {
    log::info("stopping: running answers finish first; a second signal ends at once");
    signalled.set_value();
  });
  O3_ASSIGN(const govern::KeyStore::Opened keys, open_keys(settings, clock));
  govern::UnlimitedQuota quota;
  govern::NoAudit audit;
  const api::ServerParts parts{clock, *engine, registry, keys.store, page_token, quota, audit};
  auto server = api::Server::create(api::ServerOptions::from(settings), parts, {model});
  if (!server.ok()) {
    const Result<void> shown = print_new_key(keys, output.json);
    return shown.ok() ? std::move(server).error() : forget_new_key(keys, std::move(server).error());
  }

  log::info("model {} ({}) on {}", named.name, loaded.model->config().architecture,
            backend->description());
  log::info("not in this version: audit log, limits per tenant");
  const std::string& host = settings.text(rows::kHost);
  StartReport start{
      .address = address_of(host, (*server)->port(), !settings.text(rows::kTlsCert).empty())};
  start.everywhere = listens_everywhere(host);
  start.page = start.address + "/#token=" + page_token.text().reveal();
  const Result<void> shown = print(start, keys, output.json);
  if (!shown.ok()) return forget_new_key(keys, shown.error());
  std::optional<OpenedPage> opened;
  if (output.open_page) opened.emplace(start.page);
  serve_until(signalled.get_future(), **server, settings.millis(rows::kDrainTimeout));
  return {};
}

}  // namespace o3::app
