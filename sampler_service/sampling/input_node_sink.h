// Takes the input nodes of batches that are made for nothing else.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_INPUT_NODE_SINK_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_INPUT_NODE_SINK_H_

#include "absl/types/span.h"
#include "shared/base/types.h"

namespace fgnn {

// Thread-compatible.
class InputNodeSink {
 public:
  virtual ~InputNodeSink() = default;

  virtual void StartBatch() = 0;
  // Takes nodes of the batch that started last. A node may come again within a
  // batch. Each node is below the graph's number of vertices.
  virtual void Add(absl::Span<const GlobalId> nodes) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_INPUT_NODE_SINK_H_
