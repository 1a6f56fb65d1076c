// The smallest kernels that use what launch.h has.
#ifndef FGNN_TESTS_UNIT_SHARED_DEVICE_CUDA_ADD_H_
#define FGNN_TESTS_UNIT_SHARED_DEVICE_CUDA_ADD_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

struct AddArgs {
  const uint32_t* left;   // [count]
  const uint32_t* right;  // [count]
  uint32_t* sum;          // [count]
  uint32_t count;
};
// Adds element by element.
cudaError_t LaunchAdd(const AddArgs& args, cudaStream_t stream);

// Reverses `count` values in place, through dynamic shared memory of one block.
cudaError_t LaunchReverse(uint32_t* values, uint32_t count,
                          cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_DEVICE_CUDA_ADD_H_
