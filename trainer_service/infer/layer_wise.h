// Inference with full neighbourhoods over the whole graph, layer by layer. No
// vertex is computed twice, and memory is bounded:
//
//   the vertices that are needed           from the last layer down
//   x (features or layer l's output, [N, in])
//     -> messages [N, out or in]           all sources, chunk by chunk
//     -> aggregate, update                 all destinations, chunk by chunk
//     -> layer l+1's input; the chunks of the last layer that is asked for go
//        to the caller
//
// It takes two arrays of [N, hidden] at most. Each layer is computed only for
// the vertices that the layer above needs. Several processes may share the
// arrays and the chunks (shared_inference.h): the process that computes a chunk
// changes no bit of it.
#ifndef FGNN_TRAINER_SERVICE_INFER_LAYER_WISE_H_
#define FGNN_TRAINER_SERVICE_INFER_LAYER_WISE_H_

#include <atomic>
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
#include "trainer_service/infer/inference_device.h"
#include "trainer_service/infer/shared_inference.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// All pointers and spans are borrowed.
struct InferenceInput {
  const Model* model = nullptr;
  absl::Span<const float> weights;  // [P]
  const CscView* graph = nullptr;   // N vertices, valid.
  const FeatureStore* features = nullptr;
  ThreadTeam* team = nullptr;
  // Called now and then, from any thread. Its error ends the inference and is
  // returned. May be empty.
  std::function<absl::Status()> check;
  // Shared with the other processes that make this very inference; null: this
  // process is alone.
  SharedInference* shared = nullptr;
  // Returns the results that the hosts of the inference trade; nullptr: one
  // host makes it.
  ChunkBoard* chunks() const {
    return shared == nullptr ? nullptr : shared->chunks();
  }
  // Computes this process's chunks; null: the team's threads do.
  InferenceDevice* device = nullptr;
  // Whether the device may keep arrays over all vertices in its memory. It does
  // so where this process is alone.
  bool keeps_on_device = false;
  // Where the inference notes how many thousandths of it are done, for other
  // threads to read; null: nowhere.
  std::atomic<uint32_t>* permille = nullptr;
  // What that is once the inference has ended; less than 1000: the caller has
  // more to do.
  uint32_t last_permille = 1000;
};

// Takes the result for vertices[first, first + rows): [rows, columns]. Called
// from several threads at once, for parts that do not overlap. In a shared
// inference each process gets the parts that it computed itself. All parts have
// been given once the inference ends.
using RowsConsumer =
    absl::FunctionRef<void(size_t first, int64_t rows, const float* values)>;

// Returns the most bytes that inference takes, whatever vertices are asked for:
// arrays over all vertices, and the memory of each thread.
uint64_t InferenceBytes(const InferenceInput& input);
// Returns the part of InferenceBytes() that processes may share: the arrays
// over all vertices.
uint64_t InferenceArrayBytes(const InferenceInput& input);
// Returns the bytes of the arrays that a device may keep.
uint64_t KeptBytes(const InferenceInput& input);

// Computes the logits of `vertices`, num_classes columns. Every number of
// threads gives the same bits; a device that has memory gives its own.
// InvalidArgument: the model does not fit the features, or a vertex is not in
// the graph. ResourceExhausted: the arrays do not fit into memory. In a shared
// inference also the error of `check` while this process waits for others.
absl::Status InferLogits(const InferenceInput& input,
                         absl::Span<const GlobalId> vertices,
                         RowsConsumer consume);

// Computes the embeddings of `vertices`, `hidden` columns: the last layer's
// output if links are predicted, else its input. Otherwise as InferLogits().
// Also InvalidArgument: the model has one layer, whose input is features.
absl::Status InferEmbeddings(const InferenceInput& input,
                             absl::Span<const GlobalId> vertices,
                             RowsConsumer consume);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_LAYER_WISE_H_
