// Counts how often each vertex is among the input nodes of a batch. Ids may
// repeat within a batch. A batch that is made only to be counted therefore
// needs no id map for its last hop, which has most of its edges.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_INPUT_NODE_TALLY_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_INPUT_NODE_TALLY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/input_node_sink.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"

namespace fgnn {

// Takes 4 bytes per vertex, and as many again from 65,536 batches on.
// Thread-compatible.
class InputNodeTally final : public InputNodeSink {
 public:
  // ResourceExhausted: no memory.
  static absl::StatusOr<InputNodeTally> Create(uint64_t num_nodes);

  void StartBatch() override;
  // Counts the nodes that this batch has not had yet. Each node is below
  // num_nodes.
  void Add(absl::Span<const GlobalId> nodes) override;

  // Adds, for each vertex, the number of batches that had it to `sum`
  // [num_nodes].
  void AddTo(absl::Span<uint32_t> sum) const;

 private:
  // Upper bits: the stamp of the last batch that had the vertex. Lower bits:
  // the number of batches that had it since the stamps last began anew.
  using Entry = uint32_t;

  InputNodeTally(uint64_t num_nodes, TableMemory<Entry> entries)
      : num_nodes_(num_nodes), entries_(std::move(entries)) {}

  uint64_t num_nodes_;
  TableMemory<Entry> entries_;
  std::vector<uint32_t> before_;  // Counts from before stamps began anew.
  uint32_t stamp_ = 0;            // Stamp of the current batch.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_INPUT_NODE_TALLY_H_
