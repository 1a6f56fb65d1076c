// What a GAT layer does in inference.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "trainer_service/nn/cpu/messages/head_kernels.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// What is fixed for a layer's life.
struct GatLayerOptions {
  int64_t in = 0;
  HeadShape shape;  // shape.width() columns leave.
  // Places of the parameters among the P floats: W [out, in], a_src [H, C],
  // a_dst [H, C], b [out].
  uint64_t weight_offset = 0;
  uint64_t source_offset = 0;
  uint64_t destination_offset = 0;
  uint64_t bias_offset = 0;
  double attention_dropout = 0;  // In training.
  bool first = false;  // Its input is features, whose gradient nobody needs.
  bool last = false;   // No ReLU and dropout after it.
};

// The layer with its part of weights [P] packed; the vectors are borrowed. Its
// messages are W x; it keeps nothing for each edge, however many a vertex has.
// std::bad_alloc.
std::unique_ptr<const LayerInference> MakeGatInference(
    const GatLayerOptions& options, absl::Span<const float> weights);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_
