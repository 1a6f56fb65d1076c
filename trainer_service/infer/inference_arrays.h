// The arrays of layer-wise inference. Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_INFERENCE_ARRAYS_H_
#define FGNN_TRAINER_SERVICE_INFER_INFERENCE_ARRAYS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/status.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/graph/edge_lists.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/inference_device.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Most vertices that a thread works on at a time, and the number of edges that
// ends a chunk. The edges are copied as 32-bit lists.
inline constexpr size_t kRowsPerChunk = 512;
inline constexpr uint64_t kEdgesPerChunk = 1 << 18;

// Calls visit(u) for every in-neighbour u of v. InvalidArgument, naming file
// and element: the list has changed, or has an index that is no vertex.
template <typename Visit>
absl::Status ForEachNeighbor(const CscView& graph, GlobalId v,
                             const Visit& visit) {
  FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
  return ForEachSource(graph, list, visit);
}

// The lists of some vertices, which are read once, so that all loops over them
// have the same lengths.
struct ListsOfNodes {
  std::vector<EdgeList> lists;
  std::vector<uint32_t> indptr;  // [lists + 1]
};

// Reads the lists of `nodes` to `lists`. InvalidArgument, naming file and
// element: a list has changed, or they have more than `most_edges` edges.
absl::Status ReadLists(const CscView& graph, absl::Span<const GlobalId> nodes,
                       uint64_t most_edges, ListsOfNodes* lists);

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
// Columns of the arrays that a device keeps: it reads features elsewhere.
KeptWidths WidthsToKeep(const InferenceInput& input);

// The arrays over all N vertices, in memory of this process or in memory that
// the processes of a shared inference have in common. All processes reserve the
// same arrays in the same order.
class InferenceArrays {
 public:
  // Borrows `input`.
  explicit InferenceArrays(const InferenceInput* input) : input_(*input) {}

  // Reserves all arrays but the marks. ResourceExhausted: they do not fit into
  // memory.
  absl::Status Reserve();
  // Reserves a mark for each vertex, 0 at first. In a shared inference each
  // call makes new marks; else it ends those of the last call.
  absl::StatusOr<uint8_t*> ReserveMarks();

  float* messages() const { return messages_; }  // [N, message width]
  float* hidden() const { return hidden_; }      // [N, hidden]
  // [N]; null: they are not needed.
  float* degree_scales() const { return degree_scales_; }

 private:
  const InferenceInput& input_;
  Scratch<uint8_t> own_marks_;
  Scratch<float> own_messages_;
  Scratch<float> own_hidden_;
  Scratch<float> own_degree_scales_;
  float* messages_ = nullptr;
  float* hidden_ = nullptr;
  float* degree_scales_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_INFERENCE_ARRAYS_H_
