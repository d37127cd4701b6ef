// SPDX-License-Identifier: Apache-2.0
#include "app/model_host.h"

#include <algorithm>
#include <utility>

#include "app/kv_budget.h"
#include "app/memory_check.h"
#include "base/log.h"
#include "config/serve_settings.h"
#include "loader/loaded_model.h"
#include "text/json/json_constraint.h"

namespace o3::app {
namespace {

std::function<Result<std::vector<text::Segment>>(const api::Conversation&)> renderer(
    loader::LoadedModel loaded, const Clock& clock) {
  loaded.model.reset();  // text needs no weights, and they go when the model is unloaded
  return [loaded = std::move(loaded), &clock](const api::Conversation& conversation) {
    text::RenderInput input;
    input.messages = conversation.messages;
    input.add_generation_prompt = conversation.add_generation_prompt;
    input.request = conversation.arguments;
    return loader::render_chat(loaded, std::move(input), clock);
  };
}

// The model as clients see it.
std::shared_ptr<api::ServedModel> served_model(const ModelEntry& entry,
                                               const loader::LoadedModel& loaded,
                                               engine::InstanceId instance, int32_t context,
                                               const Clock& clock) {
  auto model = std::make_shared<api::ServedModel>();
  model->id = entry.name;
  model->aliases = entry.aliases;
  model->created = std::chrono::duration_cast<std::chrono::seconds>(clock.wall()).count();
  model->tokenizer = loaded.tokenizer;
  model->instance = instance;
  model->revision = instance.value;
  model->context = context;
  model->stop_tokens = loaded.stop_tokens;
  if (const auto infill = loader::infill_tokens(*loaded.tokenizer)) {
    model->infill = {infill->prefix, infill->suffix, infill->middle};
  }
  auto json_object = text::json_object_constraints(*loaded.tokenizer);
  if (json_object.ok()) {
    model->json_object = *std::move(json_object);
  } else {
    log::warn("{}: no response_format json_object: {}", entry.name, json_object.error().message);
  }
  if (loaded.chat_template != nullptr) {
    model->render = renderer(loaded, clock);
  } else {
    log::warn("{}: no chat: {}", entry.name, loaded.no_template.message);
  }
  return model;
}

}  // namespace

ModelHost::ModelHost(const Parts& parts, const HostOptions& options,
                     std::vector<ModelEntry> entries)
    : parts_(parts), options_(options) {
  models_.reserve(entries.size());
  for (ModelEntry& entry : entries) models_.push_back({.entry = std::move(entry)});
  thread_ = std::thread([this] { work(); });
}

ModelHost::~ModelHost() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

// In equal parts, so that the order of loading changes nothing; where the free memory decides, what
// is still to come gets its part.
int64_t ModelHost::kv_share(const model::Model& model) const {
  if (options_.kv_bytes > 0) return options_.kv_bytes / std::ssize(models_);
  const std::lock_guard lock(mutex_);
  const auto to_come = std::ranges::count_if(
      models_, [](const Hosted& hosted) { return hosted.status != Status::kLoaded; });
  return default_kv_bytes(model, options_.instance.page_tokens, parts_.backend, to_come);
}

// A device with memory of its own says at each allocation what it lacks; the host would swap or
// kill instead.
Result<void> ModelHost::check_room(const ModelEntry& entry) const {
  if (parts_.backend.free_bytes()) return {};
  O3_ASSIGN(const model::ModelSource source, loader::open_model(entry.path));
  O3_ASSIGN(const model::Footprint footprint,
            model::measure_model(source, parts_.backend, options_.load));
  const model::PlanQuery query{.sequences = options_.instance.max_running,
                               .page_tokens = options_.instance.page_tokens,
                               .step_rows = options_.instance.max_step_rows};
  return check_memory(footprint, query, options_.kv_bytes / std::ssize(models_), free_memory("/"));
}

Result<void> ModelHost::load_now(Hosted& hosted) {
  const ModelEntry& entry = hosted.entry;
  O3_TRY(check_room(entry));
  O3_ASSIGN(loader::LoadedModel loaded,
            loader::load_model_file(entry.path, parts_.backend, options_.load));
  loaded.trust_assistant = options_.trust_assistant;
  engine::InstanceOptions instance = options_.instance;
  instance.compute = options_.load.compute;
  instance.kv_bytes = kv_share(*loaded.model);
  auto made = parts_.engine.load(instance, parts_.backend, loaded.model);
  if (!made.ok()) {
    Error error = std::move(made).error();
    if (error.param == "kv_bytes") error.param = config::serve::kMemory.name;
    return error;
  }
  const int32_t context = parts_.engine.instance(*made).context;
  auto added = parts_.table.add(served_model(entry, loaded, *made, context, parts_.clock));
  if (!added.ok()) {
    O3_TRY(parts_.engine.unload(*made, Nanoseconds(0)));
    return added;
  }
  hosted.instance = *made;
  log::info("model {} ({}) on {}, context {}", entry.name, loaded.model->config().architecture,
            parts_.backend.description(), context);
  return {};
}

Result<void> ModelHost::unload_now(Hosted& hosted) {
  parts_.table.remove(hosted.entry.name);
  O3_TRY(parts_.engine.unload(hosted.instance, options_.unload_timeout));
  log::info("model {} is unloaded", hosted.entry.name);
  return {};
}

void ModelHost::finish(Hosted& hosted, const Result<void>& done) {
  const std::lock_guard lock(mutex_);
  const bool loading = hosted.status == Status::kLoading;
  if (done.ok()) {
    hosted.status = loading ? Status::kLoaded : Status::kUnloaded;
    return;
  }
  hosted.status = Status::kFailed;
  hosted.error = done.error().message;
  log::error("model {} could not be {}: {}", hosted.entry.name, loading ? "loaded" : "unloaded",
             hosted.error);
}

Result<void> ModelHost::load_at_start() {
  for (Hosted& hosted : models_) {
    if (!hosted.entry.at_start) continue;
    O3_TRY(load_now(hosted));
    const std::lock_guard lock(mutex_);
    hosted.status = Status::kLoaded;
  }
  return {};
}

std::vector<api::ManagedModel> ModelHost::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<api::ManagedModel> all;
  all.reserve(models_.size());
  for (const Hosted& hosted : models_) {
    all.push_back({.id = hosted.entry.name, .status = hosted.status, .error = hosted.error});
  }
  return all;
}

Result<void> ModelHost::begin(std::string_view id, std::initializer_list<Status> from, Status to) {
  {
    const std::lock_guard lock(mutex_);
    const auto hosted =
        std::ranges::find(models_, id, [](const Hosted& h) { return h.entry.name; });
    if (hosted == models_.end()) {
      return Error{Code::kNotFound,
                   "The model " + std::string(id) + " is not in the server's configuration.",
                   "model"};
    }
    if (std::ranges::find(from, hosted->status) == from.end()) {
      const char* state = hosted->status == Status::kLoaded      ? "loaded"
                          : hosted->status == Status::kLoading   ? "being loaded"
                          : hosted->status == Status::kUnloading ? "being unloaded"
                                                                 : "not loaded";
      return Error{Code::kConflict,
                   "The model " + std::string(id) + " is " + std::string(state) + ".", "model"};
    }
    hosted->status = to;
    hosted->error.clear();
    queue_.push_back(&*hosted);
  }
  asked_.notify_one();
  return {};
}

Result<void> ModelHost::load(std::string_view id) {
  return begin(id, {Status::kUnloaded, Status::kFailed}, Status::kLoading);
}

Result<void> ModelHost::unload(std::string_view id) {
  return begin(id, {Status::kLoaded}, Status::kUnloading);
}

void ModelHost::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    asked_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    Hosted& hosted = *queue_.front();
    queue_.pop_front();
    const bool loading = hosted.status == Status::kLoading;
    lock.unlock();
    finish(hosted, loading ? load_now(hosted) : unload_now(hosted));
    lock.lock();
  }
}

}  // namespace o3::app
