// SPDX-License-Identifier: Apache-2.0
#include "loader/convert.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "artifact/gguf/gguf_file.h"
#include "artifact/gguf/gguf_writer.h"
#include "artifact/hf/hf_directory.h"
#include "artifact/safetensors/safetensors_writer.h"
#include "base/printable.h"
#include "loader/convert_tokenizer.h"
#include "model/hf/convert.h"

namespace o3::loader {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using device::DType;

// The type of most weights, in transformers' words.
const char* main_type(const std::vector<artifact::RowTensor>& tensors) {
  int64_t bytes[3] = {};
  for (const artifact::RowTensor& tensor : tensors) {
    bytes[tensor.dtype == DType::kF32 ? 0 : tensor.dtype == DType::kF16 ? 1 : 2] += tensor.bytes();
  }
  if (bytes[0] > bytes[1] && bytes[0] > bytes[2]) return "float32";
  return bytes[1] > bytes[2] ? "float16" : "bfloat16";
}

// What cannot be a weight has no place in the other kind of file.
void note_unread(const model::ModelSource& source, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const artifact::UnreadTensor& tensor : source.checkpoint->unread()) {
    names.push_back(printable(source.checkpoint->source_name(tensor.name)));
  }
  if (names.empty()) return;
  notes.push_back("tensors that cannot be weights are left out: " + list_of(names, "; "));
}

Result<ConvertResult> to_directory(const ConvertOptions& options) {
  O3_ASSIGN(auto opened, artifact::GgufFile::open(options.from));
  const auto file = std::make_shared<const artifact::GgufFile>(std::move(opened));
  O3_ASSIGN(const model::ModelSource source, model::open_source(file));
  O3_ASSIGN(const model::ModelConfig config, model::read_config(source));
  O3_ASSIGN(Json json, model::hf_config_json(source, config));
  O3_ASSIGN(model::ConvertedTensors converted, model::hf_tensors(source, config));
  ConvertResult result{.format = "safetensors",
                       .tensors = static_cast<int64_t>(converted.tensors.size()),
                       .widened = converted.widened,
                       .notes = {}};
  note_unread(source, result.notes);
  json["torch_dtype"] = main_type(converted.tensors);
  O3_ASSIGN(auto directory, artifact::OutputDirectory::create(options.to, options.overwrite));
  O3_TRY(write_hf_tokenizer(*file, directory.path(), json, result.notes));
  O3_ASSIGN(auto text, artifact::OutputFile::create(directory.path() / "config.json",
                                                    artifact::Overwrite::kNo));
  O3_TRY(text.write(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  O3_TRY(text.commit());
  O3_ASSIGN(const auto shards,
            artifact::write_safetensors_set(directory.path(), std::move(converted.tensors),
                                            options.shard_bytes, options.keep_going));
  static_cast<void>(shards);
  O3_TRY(directory.commit());
  return result;
}

Result<ConvertResult> to_gguf(const ConvertOptions& options) {
  O3_ASSIGN(auto opened, artifact::HfDirectory::open(options.from));
  const auto directory = std::make_shared<const artifact::HfDirectory>(std::move(opened));
  O3_ASSIGN(const model::ModelSource source, model::open_source(directory));
  O3_ASSIGN(const model::ModelConfig config, model::read_config(source));
  O3_ASSIGN(model::ConvertedTensors converted, model::gguf_tensors(source, config));
  ConvertResult result{.format = "gguf",
                       .tensors = static_cast<int64_t>(converted.tensors.size()),
                       .widened = 0,
                       .notes = {}};
  note_unread(source, result.notes);
  if (source.left_out > 0) {
    result.notes.push_back(std::to_string(source.left_out) +
                           " tensors of the vision tower are left out");
  }
  artifact::GgufWriter writer;
  model::add_gguf_settings(source, config, writer);
  O3_TRY(add_gguf_tokenizer(*directory, config.vocabulary, writer, result.notes));
  for (artifact::RowTensor& tensor : converted.tensors) writer.add_tensor(std::move(tensor));
  O3_TRY(writer.write(options.to, options.overwrite, options.keep_going));
  return result;
}

// Whether `path` is `folder` or lies in it, once links are followed.
bool lies_in(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path inner = fs::weakly_canonical(path, error);
  fs::path outer = fs::weakly_canonical(folder, error);
  if (outer.filename().empty()) outer = outer.parent_path();  // "models/"
  const auto [end, at] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return end == outer.end();
}

// What replacing removes must be a model, whatever else the name might have been mistyped for.
Result<void> check_replaced(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || fs::is_empty(path, error)) return {};
  if (fs::is_regular_file(path / "config.json", error)) return {};
  return invalid(path.string() + " is a directory without a config.json, so not a model's; only " +
                     "a model's is replaced",
                 "out");
}

}  // namespace

Result<ConvertResult> convert_model(const ConvertOptions& options) {
  std::error_code error;
  if (lies_in(options.to, options.from) || lies_in(options.from, options.to)) {
    return invalid("--out is the model itself or lies in it, or holds it; a name beside it works",
                   "out");
  }
  O3_TRY(check_replaced(options.to));
  return fs::is_directory(options.from, error) ? to_gguf(options) : to_directory(options);
}

}  // namespace o3::loader
