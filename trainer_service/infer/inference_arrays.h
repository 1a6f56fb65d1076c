// The arrays of layer-wise inference. Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_INFERENCE_ARRAYS_H_
#define FGNN_TRAINER_SERVICE_INFER_INFERENCE_ARRAYS_H_

#include <cstddef>
#include <cstdint>

#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Most vertices that a thread works on at a time, and the number of edges that
// ends a chunk. The edges are copied as 32-bit lists.
inline constexpr size_t kRowsPerChunk = 512;
inline constexpr uint64_t kEdgesPerChunk = 1 << 18;

inline uint64_t DegreeOf(const CscView& graph, GlobalId v) {
  return static_cast<uint64_t>(graph.indptr[v + 1] - graph.indptr[v]);
}

// Returns true if the messages of a layer must be made before they are read.
bool NeedsMessageArray(const InferenceInput& input, uint32_t layer);

// Columns of the arrays over all vertices.
struct ArrayWidths {
  uint64_t messages = 0;
  uint64_t hidden = 0;
  uint64_t degree_scales = 0;  // 1 if they are needed, else 0.

  uint64_t Bytes(uint64_t num_nodes) const {
    return num_nodes * (messages + hidden + degree_scales) * sizeof(float);
  }
};
ArrayWidths WidthsOf(const InferenceInput& input);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_INFERENCE_ARRAYS_H_
