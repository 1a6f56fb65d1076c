// The part of cuBLASLt's interface that we call, declared here because the
// library is opened when it is first needed. Names and values are those of
// cuBLASLt 13, in snake_case.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_CUBLAS_LT_API_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_CUBLAS_LT_API_H_

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstddef>
#include <cstdint>

namespace fgnn::cublas_lt {

// cublasStatus_t. The library has more of them.
enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};

// cublasComputeType_t. Sums in f32.
enum ComputeType : int {
  kCompute32F = 68,          // Factors in f32 keep all their bits.
  kCompute32FFastTf32 = 77,  // They are rounded to TF32.
};

// cublasOperation_t
enum Operation : int32_t { kOpN = 0, kOpT = 1 };

// cublasLtMatmulDescAttributes_t. Each is an int32_t.
enum DescAttribute : int { kDescTransA = 3, kDescTransB = 4 };

// cublasLtMatmulPreferenceAttributes_t
enum PreferenceAttribute : int {
  kPreferenceMaxWorkspaceBytes = 1,    // uint64_t
  kPreferenceReductionSchemeMask = 3,  // uint32_t, of ReductionScheme.
  kPreferenceMinAlignmentABytes = 5,   // uint32_t, as the next three.
  kPreferenceMinAlignmentBBytes = 6,
  kPreferenceMinAlignmentCBytes = 7,
  kPreferenceMinAlignmentDBytes = 8,
};

// cublasLtReductionScheme_t: how partial sums of a long inner size are added.
// 0, no partial sums, is always allowed.
enum ReductionScheme : uint32_t {
  kReductionInPlace = 1,      // In the output, in turns.
  kReductionComputeType = 2,  // In the workspace, by a step of its own.
  kReductionOutputType = 4,   // The same, rounded to the output's type.
};

// Opaque objects of the library.
struct Context;
struct Layout;
struct Desc;
struct Preference;

struct Algo {
  uint64_t data[8];
};

// cublasLtMatmulHeuristicResult_t
struct HeuristicResult {
  Algo algo;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

// The library's functions, each named as there without cublasLt. Matrices are
// column-major. Matmul: D = alpha op(A) op(B) + beta C, of layouts and pointers
// in that order.
struct Api {
  size_t (*get_version)();
  const char* (*get_status_name)(Status status);
  Status (*create)(Context** context);
  Status (*destroy)(Context* context);

  Status (*layout_create)(Layout** layout, cudaDataType type, uint64_t rows,
                          uint64_t columns, int64_t leading_dimension);
  Status (*layout_destroy)(Layout* layout);

  Status (*desc_create)(Desc** desc, ComputeType compute, cudaDataType scale);
  Status (*desc_destroy)(Desc* desc);
  Status (*desc_set_attribute)(Desc* desc, DescAttribute attribute,
                               const void* value, size_t bytes);

  Status (*preference_create)(Preference** preference);
  Status (*preference_destroy)(Preference* preference);
  Status (*preference_set_attribute)(Preference* preference,
                                     PreferenceAttribute attribute,
                                     const void* value, size_t bytes);

  Status (*algo_get_heuristic)(Context* context, Desc* desc, Layout* a,
                               Layout* b, Layout* c, Layout* d,
                               Preference* preference, int wanted,
                               HeuristicResult* results, int* found);
  Status (*matmul)(Context* context, Desc* desc, const void* alpha,
                   const void* a, Layout* a_layout, const void* b,
                   Layout* b_layout, const void* beta, const void* c,
                   Layout* c_layout, void* d, Layout* d_layout,
                   const Algo* algo, void* workspace, size_t workspace_bytes,
                   cudaStream_t stream);
};

}  // namespace fgnn::cublas_lt

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_CUBLAS_LT_API_H_
