// Writes rows to their places in a table in device memory.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CUDA_SCATTER_ROWS_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CUDA_SCATTER_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

// Arrays lie in device memory.
struct ScatterRowsArgs {
  const float* rows = nullptr;       // [num_rows, columns]
  const uint32_t* places = nullptr;  // [num_rows] Rows of the table, each once.
  uint32_t num_rows = 0;
  uint32_t columns = 1;    // At least 1.
  float* table = nullptr;  // [more than every place, columns]
};

// Row i becomes row places[i] of the table.
cudaError_t LaunchScatterRows(const ScatterRowsArgs& args, cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CUDA_SCATTER_ROWS_H_
