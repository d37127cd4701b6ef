// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/gemm.h"

#include <cublasLt.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace o3::kernels::cuda {
namespace {

using device::DType;

constexpr size_t kWorkspaceBytes = size_t{64} << 20;  // what the library recommends on Hopper is 32

cudaDataType_t cuda_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kF8_E4M3:
      return CUDA_R_8F_E4M3;
    default:
      return CUDA_R_16BF;
  }
}

Result<void> check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Error{Code::kInternal,
               std::string(what) + ": cuBLASLt says " + cublasLtGetStatusString(status),
               {}};
}

// Owners of the library's handles.
template <class Handle, cublasStatus_t (*kDestroy)(Handle)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle handle) : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_ != nullptr) kDestroy(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using Library = Owner<cublasLtHandle_t, cublasLtDestroy>;
using Operation = Owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

struct Plan {
  Operation operation;
  Layout w;
  Layout x;
  Layout y;
  cublasLtMatmulAlgo_t algorithm{};
};

using Key = std::tuple<DType, DType, int32_t, int32_t, int32_t, bool>;

Result<Layout> layout(cudaDataType_t type, int32_t rows, int32_t columns) {
  cublasLtMatrixLayout_t made = nullptr;
  O3_TRY(check(cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(rows),
                                          static_cast<uint64_t>(columns), rows),
               "a matrix layout"));
  return Layout(made);
}

// The library thinks in columns: y^T[n, rows] = (w^T)^T[n, k] * x^T[k, rows].
Result<Plan> make_plan(cublasLtHandle_t library, const GemmArgs& args) {
  Plan plan;
  cublasLtMatmulDesc_t operation = nullptr;
  O3_TRY(check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "a product"));
  plan.operation = Operation(operation);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  O3_TRY(check(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                              sizeof transposed),
               "a product's transposition"));
  const cudaDataType_t type = cuda_type(args.dtype);
  O3_ASSIGN(plan.w, layout(type, args.k, args.n));
  O3_ASSIGN(plan.x, layout(type, args.k, args.rows));
  O3_ASSIGN(plan.y, layout(cuda_type(args.y_dtype), args.n, args.rows));

  cublasLtMatmulPreference_t wish = nullptr;
  O3_TRY(check(cublasLtMatmulPreferenceCreate(&wish), "a preference"));
  const Preference preference(wish);
  O3_TRY(check(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                    &kWorkspaceBytes, sizeof kWorkspaceBytes),
               "a preference's workspace"));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  O3_TRY(check(cublasLtMatmulAlgoGetHeuristic(library, operation, plan.w.get(), plan.x.get(),
                                              plan.y.get(), plan.y.get(), wish, 1, &found, &count),
               "the choice of an algorithm"));
  if (count == 0) {
    return unsupported("cuBLASLt has no algorithm for " + std::to_string(args.rows) + " x " +
                       std::to_string(args.n) + " x " + std::to_string(args.k));
  }
  plan.algorithm = found.algo;
  return plan;
}

}  // namespace

struct Gemm::State {
  explicit State(device::cuda::CudaBackend& its_backend) : backend(its_backend) {}
  device::cuda::CudaBackend& backend;
  Library library;
  device::Buffer workspace;
  std::map<Key, Plan> plans;
};

Gemm::Gemm(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gemm::~Gemm() = default;

Result<std::unique_ptr<Gemm>> Gemm::create(device::cuda::CudaBackend& backend) {
  auto state = std::make_unique<State>(backend);
  cublasLtHandle_t library = nullptr;
  O3_TRY(check(cublasLtCreate(&library), "cuBLASLt does not start"));
  state->library = Library(library);
  O3_ASSIGN(state->workspace, backend.allocate(kWorkspaceBytes, device::MemTag::kWorkspace));
  return std::unique_ptr<Gemm>(new Gemm(std::move(state)));
}

Result<void> Gemm::run(const GemmArgs& args) {
  O3_CHECK(!args.accumulate || args.y_dtype == DType::kF32, "sums accumulate in FP32");
  const Key key{args.dtype, args.y_dtype, args.rows, args.n, args.k, args.accumulate};
  auto at = state_->plans.find(key);
  if (at == state_->plans.end()) {
    O3_ASSIGN(Plan made, make_plan(state_->library.get(), args));
    at = state_->plans.emplace(key, std::move(made)).first;
  }
  const Plan& plan = at->second;
  const float alpha = 1.0F;
  const float beta = args.accumulate ? 1.0F : 0.0F;
  return check(
      cublasLtMatmul(state_->library.get(), plan.operation.get(), &alpha, args.w, plan.w.get(),
                     args.x, plan.x.get(), &beta, args.y, plan.y.get(), args.y, plan.y.get(),
                     &plan.algorithm, state_->workspace.data(), kWorkspaceBytes,
                     static_cast<cudaStream_t>(state_->backend.stream().handle)),
      "a product");
}

}  // namespace o3::kernels::cuda
