// A GraphSAGE layer in inference, which is in f32 whatever a job's precision.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SAGE_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SAGE_INFERENCE_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Fixed properties of a layer.
struct SageLayerOptions {
  int64_t in = 0;
  int64_t out = 0;
  // Offsets of the parameters among the P floats: W_neigh [out, in], W_self
  // [out, in], b [out].
  uint64_t neighbor_offset = 0;
  uint64_t self_offset = 0;
  uint64_t bias_offset = 0;
  // Whether the input is features, whose gradient is not needed.
  bool first = false;
  bool last = false;  // Whether no ReLU and dropout follow.
};

// Returns true if the layer aggregates products (see Model): if these have
// fewer columns.
inline bool SendsProducts(const SageLayerOptions& options) {
  return options.out <= options.in;
}

// Returns the layer with its part of weights [P] packed; the bias is borrowed.
// std::bad_alloc.
std::unique_ptr<const LayerInference> MakeSageInference(
    const SageLayerOptions& options, absl::Span<const float> weights);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SAGE_INFERENCE_H_
