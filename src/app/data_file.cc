// SPDX-License-Identifier: Apache-2.0
#include "app/data_file.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "artifact/mapped_file.h"

namespace o3::app {
namespace {

Error too_long(const std::string& name, size_t most) {
  return Error{Code::kTooLong, name + " is larger than " + std::to_string(most) + " bytes",
               "--data"};
}

Result<std::string> read_standard_input(size_t most) {
  std::string text;
  std::vector<char> chunk(size_t{1} << 16);
  while (const size_t got = std::fread(chunk.data(), 1, chunk.size(), stdin)) {
    text.append(chunk.data(), got);
    if (text.size() > most) return too_long("standard input", most);
  }
  if (std::ferror(stdin) != 0) return unavailable("standard input cannot be read");
  if (text.empty()) return invalid("standard input is empty", "--data");
  return text;
}

}  // namespace

Result<std::string> read_data_file(const std::string& path, size_t most) {
  if (path == "-" || path == "/dev/stdin") return read_standard_input(most);
  const auto file = artifact::MappedFile::open(path);
  if (!file.ok()) {
    Error error = file.error();
    error.message = "--data: " + error.message + "; a regular file, or - for standard input, works";
    return error;
  }
  if (file->bytes().size() > most) return too_long(path, most);
  return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

}  // namespace o3::app
