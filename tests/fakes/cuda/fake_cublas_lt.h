// cuBLASLt's functions without a GPU: column-major plain loops on the streams
// of the fake runtime.
#ifndef FGNN_TESTS_FAKES_CUDA_FAKE_CUBLAS_LT_H_
#define FGNN_TESTS_FAKES_CUDA_FAKE_CUBLAS_LT_H_

#include <cstdint>

#include "trainer_service/nn/cuda/cublas_lt_api.h"

namespace fgnn::simt {

// What the functions answer. Misuse is answered with kInvalidValue: sizes,
// types, leading dimensions or addresses that do not fit together, an algorithm
// of another shape, preferences that are not set.
struct FakeCublasLt {
  cublas_lt::Status create = cublas_lt::kSuccess;
  cublas_lt::Status heuristic = cublas_lt::kSuccess;
  cublas_lt::Status of_result = cublas_lt::kSuccess;  // HeuristicResult::state
  cublas_lt::Status matmul = cublas_lt::kSuccess;
  bool finds_nothing = false;
  // The call after these further ones, of those that make or set an object of
  // the host, is answered with kAllocFailed.
  uint64_t calls_before_no_memory = UINT64_MAX;
};
// Also sets the count to 0. One thread at a time calls.
void SetFakeCublasLt(const FakeCublasLt& fake);

// Returns the table of functions.
cublas_lt::Api FakeCublasLtApi();

// Calls for an algorithm since SetFakeCublasLt().
uint64_t NumHeuristics();
// Objects that were made and not destroyed.
int64_t NumCublasLtObjects();

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_FAKES_CUDA_FAKE_CUBLAS_LT_H_
