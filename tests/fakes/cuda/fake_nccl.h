// NCCL's functions without a GPU: members are processes, or threads, of one
// machine, and arrays go through memory that they share.
#ifndef FGNN_TESTS_FAKES_CUDA_FAKE_NCCL_H_
#define FGNN_TESTS_FAKES_CUDA_FAKE_NCCL_H_

#include <cstdint>

#include "trainer_service/sync/cuda/nccl_api.h"

namespace fgnn::simt {

// What the functions of this process answer.
struct FakeNccl {
  nccl::Result unique_id = nccl::kSuccess;
  nccl::Result init = nccl::kSuccess;
  nccl::Result exchange = nccl::kSuccess;  // Of broadcasts and sums.
  nccl::Result async = nccl::kSuccess;     // Of a communicator that is joined.
  // What this process sends never comes.
  bool silent = false;
};

// Calls since SetFakeNccl().
struct FakeNcclCounts {
  uint64_t communicators = 0;
  uint64_t broadcasts = 0;
  uint64_t sums = 0;
  uint64_t aborts = 0;
};

// Also sets the counts to 0. Any thread, as the functions.
void SetFakeNccl(const FakeNccl& fake);
FakeNcclCounts GetFakeNcclCounts();

// Returns the table of functions. Sums add from the last rank to the first.
nccl::Api FakeNcclApi();

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_FAKES_CUDA_FAKE_NCCL_H_
