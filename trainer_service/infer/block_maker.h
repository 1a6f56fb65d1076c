// Blocks of whole neighbourhoods, for an InferenceDevice. Private to this
// folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_BLOCK_MAKER_H_
#define FGNN_TRAINER_SERVICE_INFER_BLOCK_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/infer/inference_arrays.h"
#include "trainer_service/infer/inference_device.h"

namespace fgnn {

// Makes one block after the other, with all threads of a team. Takes 4 bytes
// for each vertex of the graph.
class BlockMaker {
 public:
  // Borrows both.
  BlockMaker(const CscView* graph, ThreadTeam* team);

  // Makes the block of `nodes`, which may repeat, with all their neighbours.
  // degree_scales [N] are those of all vertices, or null. Fewer than 2^32 - 2
  // nodes and entries. InvalidArgument: the graph has changed.
  absl::Status Make(absl::Span<const GlobalId> nodes,
                    const float* degree_scales);

  // Valid until the next Make(). The order of sources behind the destinations
  // may be another one each time.
  const InferenceBlock& block() const { return block_; }
  absl::Span<const GlobalId> sources() const { return sources_; }  // [S]

 private:
  // Calls visit(first, last, worker) for parts of [0, count).
  absl::Status ForParts(
      size_t count, absl::FunctionRef<void(size_t, size_t, int)> visit) const;
  absl::Status FindSources(absl::Span<const GlobalId> nodes);
  absl::Status FillLists(absl::Span<const GlobalId> nodes);

  const CscView& graph_;
  ThreadTeam& team_;
  std::vector<uint32_t> places_;              // [N] Places among the sources.
  std::vector<std::vector<GlobalId>> found_;  // By each worker.
  std::vector<GlobalId> sources_;
  ListsOfNodes lists_;
  std::vector<uint32_t> indices_;
  std::vector<float> scales_;
  InferenceBlock block_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_BLOCK_MAKER_H_
