// Finds out which input nodes the batches of a window share.
#ifndef FGNN_SAMPLER_SERVICE_ORDER_WINDOW_OVERLAP_H_
#define FGNN_SAMPLER_SERVICE_ORDER_WINDOW_OVERLAP_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/order/overlap_matrix.h"
#include "sampler_service/sampling/input_node_sink.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"

namespace fgnn {

// A word per vertex has a bit for each batch, so that a pass over the vertices
// that any batch has gives all pairs. Thread-compatible.
class WindowOverlap final : public InputNodeSink {
 public:
  // ResourceExhausted: no memory.
  static absl::StatusOr<WindowOverlap> Create(uint64_t num_nodes);
  // Returns the bytes that the tables take once all vertices were met.
  static uint64_t BytesFor(uint64_t num_nodes) {
    return num_nodes * (sizeof(uint64_t) + sizeof(GlobalId));
  }

  // Forgets all batches.
  void StartWindow();
  // Precondition: the window has fewer than kMaxWindow batches.
  void StartBatch() override { ++num_batches_; }
  void Add(absl::Span<const GlobalId> nodes) override;

  // Returns what the batches since StartWindow() share, in their order.
  OverlapMatrix Count() const;

 private:
  WindowOverlap(TableMemory<uint64_t> batches, TableMemory<GlobalId> met)
      : batches_(std::move(batches)), met_(std::move(met)) {}

  // [num_nodes] Bit i: batch i of the window has the vertex.
  TableMemory<uint64_t> batches_;
  TableMemory<GlobalId> met_;  // [num_met, of num_nodes] Nodes with a bit.
  uint64_t num_met_ = 0;
  uint32_t num_batches_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ORDER_WINDOW_OVERLAP_H_
