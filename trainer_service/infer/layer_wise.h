// Inference with full neighbourhoods over the whole graph, layer by layer, so
// that no vertex is computed twice and memory stays bounded:
//
//   who is needed                          from the last layer down
//   x (features or layer l's output, [N, in])
//     -> messages [N, out or in]           all sources, chunk by chunk
//     -> aggregate, update                 all destinations, chunk by chunk
//     -> layer l+1's input; the chunks of the last layer that is asked for go
//        to the caller
//
// Two arrays of [N, hidden] at most. Each layer is computed only for the
// vertices that the layer above needs. Several processes may share the arrays
// and the chunks (shared_inference.h): which of them computes a chunk changes
// no bit.
#ifndef FGNN_TRAINER_SERVICE_INFER_LAYER_WISE_H_
#define FGNN_TRAINER_SERVICE_INFER_LAYER_WISE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/infer/shared_inference.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// All borrowed.
struct InferenceInput {
  const Model* model = nullptr;
  absl::Span<const float> weights;  // [P]
  const CscView* graph = nullptr;   // N vertices, valid.
  const FeatureStore* features = nullptr;
  ThreadTeam* team = nullptr;
  // Asked now and then, from any thread: an error ends the inference with it.
  // May be empty.
  std::function<absl::Status()> check;
  // With the other processes that make this very inference; null: alone.
  SharedInference* shared = nullptr;
};

// What was inferred of vertices[first, first + rows): [rows, columns]. Called
// from several threads at once, for parts that do not overlap. Of a shared
// inference each process is given the parts that it computed itself; all of
// them have been given once it ends.
using RowsConsumer =
    absl::FunctionRef<void(size_t first, int64_t rows, const float* values)>;

// Bytes that inference takes at most, whatever vertices are asked for:
// arrays over all of them, and what each thread works in.
uint64_t InferenceBytes(const InferenceInput& input);
// Those of them that are arrays over all vertices, which processes may share.
uint64_t InferenceArrayBytes(const InferenceInput& input);

// Computes the logits of `vertices`, num_classes columns; the same bits for any
// number of threads. InvalidArgument: the model does not fit the features, or a
// vertex is not in the graph. ResourceExhausted: the arrays do not fit into
// memory. Of a shared inference also what `check` says while others are waited
// for.
absl::Status InferLogits(const InferenceInput& input,
                         absl::Span<const GlobalId> vertices,
                         RowsConsumer consume);

// Computes the embeddings of `vertices`, `hidden` columns: what the last layer
// makes of them where links are predicted, else what it is given. Otherwise as
// InferLogits(). InvalidArgument also: the model has one layer, which is given
// features.
absl::Status InferEmbeddings(const InferenceInput& input,
                             absl::Span<const GlobalId> vertices,
                             RowsConsumer consume);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_LAYER_WISE_H_
