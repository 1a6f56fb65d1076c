// The part of NCCL's interface that we call, declared here because the library
// is opened when it is first needed. Names and values are those of NCCL 2, in
// snake_case.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_API_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_API_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace fgnn::nccl {

// ncclResult_t
enum Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,  // Result of a communicator that does not block.
};

// ncclDataType_t, ncclRedOp_t
enum DataType : int { kFloat32 = 7 };
enum Reduction : int { kSum = 0 };

// ncclUniqueId
struct UniqueId {
  char bytes[128];
};

// The head of ncclConfig_t, as of NCCL 2.14. Later versions read as much as
// `size` says, and the fields that `version` had.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
};
static_assert(sizeof(Config) == 24);

// Opaque object of the library: a communicator.
struct Comm;

// The library's functions, each named as there without nccl. Calls on a
// communicator may answer kInProgress; comm_get_async_error then tells when
// they are done, and what came of them.
struct Api {
  Result (*get_version)(int* version);
  const char* (*get_error_string)(Result result);
  const char* (*get_last_error)(Comm* comm);
  Result (*get_unique_id)(UniqueId* id);

  Result (*comm_init_rank_config)(Comm** comm, int members, UniqueId id,
                                  int rank, Config* config);
  Result (*comm_get_async_error)(Comm* comm, Result* result);
  // Ends what the communicator has under way, and frees it.
  Result (*comm_abort)(Comm* comm);

  Result (*group_start)();
  Result (*group_end)();
  Result (*broadcast)(const void* from, void* to, size_t count, DataType type,
                      int root, Comm* comm, cudaStream_t stream);
  Result (*all_reduce)(const void* from, void* to, size_t count, DataType type,
                       Reduction reduction, Comm* comm, cudaStream_t stream);
};

}  // namespace fgnn::nccl

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_API_H_
