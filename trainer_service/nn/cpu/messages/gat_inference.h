// A GAT layer in inference.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "trainer_service/nn/cpu/messages/head_kernels.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Fixed properties of a layer.
struct GatLayerOptions {
  int64_t in = 0;
  HeadShape shape;  // Heads and columns of the output, shape.width() in all.
  // Offsets of the parameters among the P floats: W [out, in], a_src [H, C],
  // a_dst [H, C], b [out].
  uint64_t weight_offset = 0;
  uint64_t source_offset = 0;
  uint64_t destination_offset = 0;
  uint64_t bias_offset = 0;
  // Dropout of attention weights in training, [0, 1).
  double attention_dropout = 0;
  // Whether the input is features, whose gradient is not needed.
  bool first = false;
  bool last = false;  // Whether no ReLU and dropout follow.
};

// Returns the layer with its part of weights [P] packed; the vectors are
// borrowed. Its messages are W x. It keeps nothing for each edge, however many
// a vertex has. std::bad_alloc.
std::unique_ptr<const LayerInference> MakeGatInference(
    const GatLayerOptions& options, absl::Span<const float> weights);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_
