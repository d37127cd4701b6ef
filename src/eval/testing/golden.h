// SPDX-License-Identifier: Apache-2.0
// For tests: backends for every ISA of the machine, and the distance between two sets of logits.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/cpu/cpu_backend.h"
#include "eval/logits.h"
#include "model/load_model.h"
#include "model/testing/test_gguf.h"

namespace o3::eval {

inline std::unique_ptr<device::cpu::CpuBackend> cpu_backend(device::cpu::Isa isa, int threads = 2) {
  auto backend = device::cpu::CpuBackend::create({.threads = threads, .isa = isa});
  O3_CHECK(backend.ok(), "an available ISA makes a backend");
  return *std::move(backend);
}

inline std::unique_ptr<model::Model> load(
    const std::shared_ptr<const artifact::GgufFile>& file, device::Backend& backend,
    kernels::Compute compute, device::DType kv,
    model::WeightStorage weights = model::WeightStorage::kAsInFile) {
  auto loaded =
      model::load_model(file, backend, {.compute = compute, .kv_dtype = kv, .weights = weights});
  O3_CHECK(loaded.ok(), "a test model loads");
  return *std::move(loaded);
}

inline nlohmann::json read_golden(const std::string& name) {
  std::ifstream file(model::golden_path(name));
  O3_CHECK(file.good(), "a committed golden file opens");
  return nlohmann::json::parse(file);
}

// |a - b| / |b| over all values.
class Distance {
 public:
  void add(double value, double expected) {
    error_ += (value - expected) * (value - expected);
    norm_ += expected * expected;
  }
  double relative() const { return std::sqrt(error_ / norm_); }

 private:
  double error_ = 0.0;
  double norm_ = 0.0;
};

// Distance of a model's logits from a golden file {"cases": [{ids, rows, logits}]}.
inline double golden_distance(const model::Model& model, device::Backend& backend,
                              const nlohmann::json& golden, const LogitsOptions& options) {
  Distance distance;
  for (const nlohmann::json& test : golden.at("cases")) {
    const auto ids = test.at("ids").get<std::vector<Token>>();
    const auto rows = test.at("rows").get<std::vector<int32_t>>();
    const auto expected = test.at("logits").get<std::vector<std::vector<double>>>();
    auto logits = sequence_logits(model, backend, ids, rows, options);
    O3_CHECK(logits.ok() && logits->size() == expected.size(), "golden ids are in range");
    for (size_t row = 0; row < expected.size(); ++row) {
      for (size_t id = 0; id < expected[row].size(); ++id) {
        distance.add(double{(*logits)[row][id]}, expected[row][id]);
      }
    }
  }
  return distance.relative();
}

}  // namespace o3::eval
