// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_source.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

namespace o3::config {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kMaxScalars = 10'000;
constexpr int kMaxDepth = 8;  // also ends a document that an anchor makes circular

class Flattener {
 public:
  explicit Flattener(std::string file) : file_(std::move(file)) {}

  Result<void> map(const YAML::Node& node, const std::string& prefix, int depth) {
    if (depth > kMaxDepth) return at(node, "nested deeper than " + std::to_string(kMaxDepth));
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return at(entry.first, "a name must be plain text");
      O3_TRY(printable(entry.first));
      const std::string name = prefix + entry.first.Scalar();
      const auto [known, fresh] = lines_.emplace(name, entry.first.Mark().line + 1);
      if (!fresh) {
        return at(entry.first,
                  "\"" + name + "\" is already set in line " + std::to_string(known->second));
      }
      O3_TRY(value(entry.second, name, depth));
    }
    return {};
  }

  std::vector<Override> take() && { return std::move(found_); }

 private:
  Result<void> value(const YAML::Node& node, const std::string& name, int depth) {
    if (node.IsMap()) return map(node, name + ".", depth + 1);
    if (node.IsScalar()) return scalar(node, name);
    if (!node.IsSequence()) return at(node, "\"" + name + "\" has no value");
    for (const auto& item : node) {
      if (!item.IsScalar()) return at(item, "the items of \"" + name + "\" must be plain text");
      O3_TRY(scalar(item, name));
    }
    return {};
  }

  Result<void> scalar(const YAML::Node& node, const std::string& name) {
    if (found_.size() == kMaxScalars) return at(node, "too many values in one file");
    O3_TRY(printable(node));
    found_.push_back({name, node.Scalar(), place(node)});
    return {};
  }

  // An escaped NUL or line break would end or split a path or a message that repeats it.
  Result<void> printable(const YAML::Node& scalar) const {
    const bool control = std::ranges::any_of(
        scalar.Scalar(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (control) return at(scalar, "names and values have no control characters");
    return {};
  }

  std::string place(const YAML::Node& node) const {
    return file_ + ":" + std::to_string(node.Mark().line + 1);
  }
  Error at(const YAML::Node& node, const std::string& what) const {
    return invalid(place(node) + ": " + what);
  }

  std::string file_;
  std::map<std::string, int> lines_;
  std::vector<Override> found_;
};

Error unreadable(const std::filesystem::path& file, const std::string& why) {
  return Error{
      Code::kNotFound, "cannot read the configuration file '" + file.string() + "'" + why, {}};
}

Result<std::string> read_text(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) return unreadable(file, ": it is a directory");
  std::ifstream in(file, std::ios::binary);
  if (!in) return unreadable(file, "");
  std::string text(kMaxFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return unreadable(file, "");
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxFileBytes) {
    return Error{Code::kTooLong, file.string() + " is larger than 1 MiB", {}};
  }
  if (const size_t nul = text.find('\0'); nul != std::string::npos) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(nul), '\n');
    return invalid(file.string() + ":" + std::to_string(line) + ": a NUL byte");
  }
  return text;
}

Result<std::vector<Override>> flatten(const std::string& text, const std::string& name) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(text);
  if (documents.size() > 1) {
    return invalid(name + ": a configuration file is one document; this one has " +
                   std::to_string(documents.size()) + ", cut by \"---\" or \"...\"");
  }
  if (documents.empty() || documents.front().IsNull()) return std::vector<Override>{};
  const YAML::Node& root = documents.front();
  if (!root.IsMap()) return invalid(name + ": a configuration file is a map of names to values");
  Flattener flattener(name);
  O3_TRY(flattener.map(root, "", 1));
  return std::move(flattener).take();
}

}  // namespace

Result<std::vector<Override>> read_yaml(const std::filesystem::path& file) {
  O3_ASSIGN(const std::string text, read_text(file));
  try {
    return flatten(text, file.string());
  } catch (const YAML::Exception& error) {
    return invalid(file.string() + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

}  // namespace o3::config
