// A GAT layer in inference.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_

#include <memory>

#include "absl/types/span.h"
#include "trainer_service/nn/layer_options.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Returns the layer with its part of weights [P] packed; the vectors are
// borrowed. Its messages are W x. It keeps nothing for each edge, however many
// a vertex has. std::bad_alloc.
std::unique_ptr<const LayerInference> MakeGatInference(
    const GatLayerOptions& options, absl::Span<const float> weights);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_GAT_INFERENCE_H_
