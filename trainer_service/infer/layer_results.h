// The outputs of an inference's layers that several hosts compute together:
// each host computes its own chunks, and gets those of the others. For an
// inference of one host no function does anything. Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_LAYER_RESULTS_H_
#define FGNN_TRAINER_SERVICE_INFER_LAYER_RESULTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/infer/chunk_loops.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// One caller, except for Give().
class LayerResults {
 public:
  // Takes the outputs of nodes[first, first + rows).
  using Taker =
      absl::FunctionRef<void(size_t first, size_t rows, const float* values)>;

  // Borrows `input` and `loops`. The first `num_layers` layers are inferred.
  LayerResults(const InferenceInput* input, uint32_t num_layers,
               ChunkLoops* loops)
      : input_(*input), num_layers_(num_layers), loops_(*loops) {}

  // Lets the next loop, over chunks of `nodes` that begin at `starts`, be of
  // all hosts. Errors: those of WorkBefore() and of ReserveResults().
  absl::Status Share(uint32_t layer, absl::Span<const GlobalId> nodes,
                     absl::Span<const size_t> starts);
  // Gives outputs that this process has computed to the other hosts, once their
  // chunk is done. Any thread.
  void Give(uint32_t layer, size_t first, size_t rows, const float* outputs);
  // Has `take` called for the chunks of other hosts, each on one process of
  // this host. To be called once the loop has ended.
  absl::Status TakeOthers(uint32_t layer, Taker take);

 private:
  const InferenceInput& input_;
  const uint32_t num_layers_;
  ChunkLoops& loops_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_LAYER_RESULTS_H_
