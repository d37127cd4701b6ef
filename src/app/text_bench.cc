// SPDX-License-Identifier: Apache-2.0
// How fast tokenizers load and encode: one thread, processor time, the best of some runs.
//   text_bench TEXT TOKENIZER... [--runs N]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "loader/hf_tokenizer.h"

namespace {

// Processor time: what else runs on the machine does not count.
double seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

int bench(const std::string& text, const std::string& path, int runs) {
  double load = 1e9;
  double encode = 1e9;
  size_t tokens = 0;
  for (int run = 0; run < runs; ++run) {
    double start = seconds();
    const auto tokenizer = o3::loader::load_any_tokenizer(path);
    if (!tokenizer.ok()) {
      std::fprintf(stderr, "error: %s\n", tokenizer.error().message.c_str());
      return 1;
    }
    load = std::min(load, seconds() - start);
    start = seconds();
    const auto encoded = (*tokenizer)->encode(text, o3::text::SpecialTokens::kParse);
    encode = std::min(encode, seconds() - start);
    if (!encoded.ok()) {
      std::fprintf(stderr, "error: %s\n", encoded.error().message.c_str());
      return 1;
    }
    tokens = encoded->size();
  }
  std::printf("%s\tload %.1f ms\tencode %.1f ms\t%.2f MB/s\t%zu tokens\n", path.c_str(), load * 1e3,
              encode * 1e3, static_cast<double>(text.size()) / encode / 1e6, tokens);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  int runs = 5;
  if (arguments.size() > 2 && arguments[arguments.size() - 2] == "--runs") {
    runs = std::max(1, std::atoi(arguments.back().c_str()));
    arguments.resize(arguments.size() - 2);
  }
  if (arguments.size() < 2) {
    std::fprintf(stderr, "usage: text_bench TEXT TOKENIZER... [--runs N]\n");
    return 2;
  }
  std::ifstream file(arguments[0], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  int status = text.empty() ? 1 : 0;
  for (size_t i = 1; i < arguments.size(); ++i) status |= bench(text, arguments[i], runs);
  return status;
}
