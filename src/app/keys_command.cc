// SPDX-License-Identifier: Apache-2.0
// o3 keys: the API keys of a server on this machine.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/state_dir.h"
#include "base/clock.h"
#include "govern/key_admin.h"

namespace o3::app {
namespace {

using Json = nlohmann::ordered_json;

struct KeysOptions {
  std::string data_dir;
  govern::NewKey key{.models = {}};
  std::string request_class = "normal";
  std::string id;
  bool json = false;
};

Json describe(const govern::KeyRow& row) {
  return {{"id", row.id},
          {"tenant", row.tenant},
          {"class", govern::class_name(row.request_class)},
          {"models", row.models},
          {"created", row.created}};
}

Result<void> add(const KeysOptions& options) {
  O3_ASSIGN(const std::filesystem::path folder, state_dir(options.data_dir));
  govern::NewKey wanted = options.key;
  wanted.request_class = *govern::class_from_name(options.request_class);
  if (wanted.models.empty()) wanted.models = {"*"};
  const SystemClock clock;
  O3_ASSIGN(const govern::AddedKey added, govern::add_key(folder, wanted, clock));
  if (options.json) {
    Json told = describe(added.row);
    told["key"] = added.text.reveal();
    std::printf("%s\n", told.dump().c_str());
  } else {
    std::printf("%s\n", added.text.reveal().c_str());
    std::fprintf(stderr, "Key %s of tenant %s; it is shown this once, %s keeps its digest.\n",
                 added.row.id.c_str(), added.row.tenant.c_str(),
                 (folder / govern::kKeyFileName).c_str());
  }
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out.empty() ? "(none)" : out;
}

Result<void> list(const KeysOptions& options) {
  O3_ASSIGN(const std::filesystem::path folder, state_dir(options.data_dir));
  O3_ASSIGN(const std::vector<govern::KeyRow> rows,
            govern::read_keys(folder / govern::kKeyFileName));
  if (!options.json)
    std::printf("%-16s %-16s %-8s %-20s %s\n", "ID", "TENANT", "CLASS", "CREATED", "MODELS");
  for (const govern::KeyRow& row : rows) {
    if (options.json) {
      std::printf("%s\n", describe(row).dump().c_str());
      continue;
    }
    std::printf("%-16s %-16s %-8s %-20s %s\n", row.id.c_str(), row.tenant.c_str(),
                std::string(govern::class_name(row.request_class)).c_str(), row.created.c_str(),
                joined(row.models).c_str());
  }
  return {};
}

Result<void> revoke(const KeysOptions& options) {
  O3_ASSIGN(const std::filesystem::path folder, state_dir(options.data_dir));
  O3_TRY(govern::revoke_key(folder, options.id));
  if (!options.json) std::fprintf(stderr, "Key %s is revoked.\n", options.id.c_str());
  return {};
}

CLI::App* subcommand(CLI::App& keys, const char* name, const char* help,
                     const std::shared_ptr<KeysOptions>& options, Action& action,
                     Result<void> (*run)(const KeysOptions&)) {
  CLI::App* command = keys.add_subcommand(name, help);
  command->add_option("--data-dir", options->data_dir,
                      "Folder of the server's state (default: as `o3 serve`)");
  command->add_flag("--json", options->json, "One JSON object per line");
  command->callback([options, run, &action] {
    action = [options, run] {
      const Result<void> done = run(*options);
      return done.ok() ? ExitCode::kOk : report(done.error());
    };
  });
  return command;
}

}  // namespace

void add_keys_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* keys = app.add_subcommand("keys", "API keys of a server on this machine");
  keys->require_subcommand(1);
  keys->footer("A running server takes changes into force within a second.");
  CLI::App* adding = subcommand(*keys, "add", "Makes a key and prints it", options, action, &add);
  adding
      ->add_option("--tenant", options->key.tenant,
                   "Whom it belongs to: caches, limits and audit separate by it")
      ->capture_default_str();
  adding->add_option("--class", options->request_class, "Scheduling class of its requests")
      ->check(CLI::IsMember({"critical", "high", "normal", "low"}))
      ->capture_default_str();
  adding
      ->add_option("--model", options->key.models,
                   "A model it may use; may be repeated (default: all)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  adding->add_option("--id", options->key.id,
                     "Name of the key in lists and in the audit (default: made up)");
  subcommand(*keys, "list", "Lists the keys", options, action, &list);
  CLI::App* revoking =
      subcommand(*keys, "revoke", "Takes a key out of force", options, action, &revoke);
  revoking->add_option("id", options->id, "The key's id")->required();
}

}  // namespace o3::app
