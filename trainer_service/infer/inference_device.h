// The interface of a device that computes an inference's chunks in the place of
// the host's cores. Arrays over all vertices stay in the host's memory: a chunk
// goes to the device row by row, and its results come back. A device may keep
// them in its own memory instead.
#ifndef FGNN_TRAINER_SERVICE_INFER_INFERENCE_DEVICE_H_
#define FGNN_TRAINER_SERVICE_INFER_INFERENCE_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Vertices with their whole lists of neighbours. Sources are numbered within
// the block; destination d is source d. Borrowed.
struct InferenceBlock {
  uint32_t num_sources = 0;               // S
  absl::Span<const uint32_t> indptr;      // [D + 1]
  absl::Span<const uint32_t> indices;     // [entries]
  absl::Span<const float> degree_scales;  // [S], see RowLists; empty without.

  uint32_t num_destinations() const {  // D
    return static_cast<uint32_t>(indptr.size() - 1);
  }
};

// The sizes of a block.
struct BlockSize {
  uint64_t destinations = 0;
  uint64_t sources = 0;
  uint64_t entries = 0;
};

// Where rows of vertices lie.
enum class RowsPlace : uint8_t {
  kHost,      // In the host's memory.
  kFeatures,  // In the dataset: a device may read them itself.
  kHidden,    // In an array of the device; see InferenceDevice::Keep().
  kMessages,  // In another one.
};

// Columns of the arrays over all vertices.
struct KeptWidths {
  uint64_t hidden = 0;
  uint64_t messages = 0;
};

// Computes what LayerInference does, up to rounding. The same arguments give
// the same bits. One call at a time.
class InferenceDevice {
 public:
  // Writes rows [first, first + rows) of an input to `out`. Called in order.
  using Source = absl::FunctionRef<absl::Status(uint64_t first, uint64_t rows,
                                                float* out)>;
  // The rows of an input.
  struct Rows {
    Source copy;  // Not called for rows that the device keeps.
    RowsPlace place = RowsPlace::kHost;
    absl::Span<const GlobalId> nodes;  // The vertices whose rows they are.
  };
  // Takes rows [first, first + rows) of a result. Called in order.
  using Sink = absl::FunctionRef<absl::Status(uint64_t first, uint64_t rows,
                                              const float* values)>;
  // The rows of a result.
  struct Results {
    Sink take;  // Not called for rows that the device keeps.
    RowsPlace place = RowsPlace::kHost;  // kHost, or an array of the device.
    // The vertices whose rows they are. Each is there once if the device keeps
    // the rows.
    absl::Span<const GlobalId> nodes;
  };

  virtual ~InferenceDevice() = default;

  // Begins an inference with weights [P], which are borrowed until End(), and
  // with the largest workspace. ResourceExhausted, with a line in the log: the
  // device has no memory, and the caller computes on the host's cores.
  virtual absl::Status Begin(absl::Span<const float> weights) = 0;
  // Gives back all memory. Also ends what Begin() could not begin.
  virtual void End() = 0;

  // Keeps arrays [num_nodes, columns] in the device's memory, without values,
  // until GiveBack() or End(). Called once, after Begin(). Returns false, with
  // a line in the log, if there is no memory for them.
  virtual absl::StatusOr<bool> Keep(uint64_t num_nodes,
                                    const KeptWidths& widths) = 0;
  // Copies the arrays to those of the host, which may be null, and frees them.
  // FailedPrecondition: the device has no memory to copy them.
  virtual absl::Status GiveBack(float* hidden, float* messages) = 0;

  // Return whether the workspace has room for a chunk: `rows` of Messages(), or
  // a block of Update() of at most these sizes.
  virtual bool HasRoomForMessages(uint32_t layer, uint64_t rows) const = 0;
  virtual bool HasRoom(uint32_t layer, const BlockSize& most) const = 0;
  // Lets the workspace be smaller than the last chunk, which found no memory.
  // Returns false, with a line in the log, if so little is not worth it: the
  // caller computes on the host's cores.
  virtual bool TakeLess() = 0;

  // Maps inputs [rows, input_width] to messages [rows, message_width]. Only for
  // a layer that SendsProducts(). ResourceExhausted: there is no memory, and no
  // result was given. Other errors: those of `inputs` and `messages`, and the
  // device's.
  virtual absl::Status Messages(uint32_t layer, uint64_t rows,
                                const Rows& inputs,
                                const Results& messages) = 0;
  // Computes outputs [D, output_width] of a block. messages [S, message_width].
  // inputs [D, input_width] are those of the destinations; they may be left
  // unread. The outputs may replace them. Errors: as above.
  virtual absl::Status Update(uint32_t layer, const InferenceBlock& block,
                              const Rows& messages, const Rows& inputs,
                              const Results& outputs) = 0;

  // Returns the most bytes of the host's memory that it takes, with those of
  // the blocks that it has room for.
  virtual uint64_t HostBytes(uint64_t num_nodes, uint64_t num_edges) const = 0;
};

// A function that opens GPU number `device` for inferences with a model, on
// the calling thread. `team` is borrowed. Unimplemented, with the way out: the
// program has no CUDA, or GPUs have no such model. FailedPrecondition: there is
// no such GPU.
using InferenceDeviceOpener =
    std::function<absl::StatusOr<std::unique_ptr<InferenceDevice>>(
        int device, const ModelOptions& options, ThreadTeam* team)>;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_INFERENCE_DEVICE_H_
