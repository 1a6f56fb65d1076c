// What a GraphSAGE layer does in inference, which is in f32 whatever a job's
// precision.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SAGE_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SAGE_INFERENCE_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// What is fixed for a layer's life.
struct SageLayerOptions {
  int64_t in = 0;
  int64_t out = 0;
  // Places of the parameters among the P floats: W_neigh [out, in],
  // W_self [out, in], b [out].
  uint64_t neighbor_offset = 0;
  uint64_t self_offset = 0;
  uint64_t bias_offset = 0;
  bool first = false;  // Its input is features, whose gradient nobody needs.
  bool last = false;   // No ReLU and dropout after it.
};

// Whether it aggregates products (see Model): where these are the narrower.
inline bool SendsProducts(const SageLayerOptions& options) {
  return options.out <= options.in;
}

// The layer with its part of weights [P] packed; the bias is borrowed.
// std::bad_alloc.
std::unique_ptr<const LayerInference> MakeSageInference(
    const SageLayerOptions& options, absl::Span<const float> weights);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SAGE_INFERENCE_H_
