// How a part of a batch on a CUDA device exchanges rows with the batch's other
// parts: through pinned memory and a RowShuffle of the host.
//
//   Forward    take the rows to send ─▶ pinned ─▶ RowShuffle ─▶ pinned
//              ─▶ behind the own rows
//   Backward   the remote rows' gradients ─▶ pinned ─▶ RowShuffle ─▶ pinned
//              ─▶ add to the own rows' gradients, part by part
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_ROW_EXCHANGE_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_ROW_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "trainer_service/nn/cuda/batch_run.h"
#include "trainer_service/nn/cuda/device_task.h"
#include "trainer_service/nn/row_shuffle.h"

namespace fgnn {

// The sources of a hop, whose rows are exchanged. Borrowed.
struct ExchangedHop {
  RowShuffle* shuffle = nullptr;
  const CudaStream* stream = nullptr;  // That of the run.
  uint32_t hop = 0;
  const DeviceBlock* block = nullptr;
  FeatureType type = FeatureType::kFloat32;  // Type of the rows.
  uint64_t columns = 0;                      // Columns of a row.

  uint64_t row_bytes() const { return columns * BytesOf(type); }
};

// Not thread-safe. Each function queues work on the run's stream, and lets the
// host wait once for the rows to send, then for other parts. The caller waits
// for the stream before it begins another batch. Errors: those of BatchRun and
// of the shuffle. Unavailable: no pinned memory.
class CudaRowExchange {
 public:
  static absl::StatusOr<CudaRowExchange> Make();

  // Fills the remote rows of `rows` [own + remote, columns].
  absl::Status FillRemote(const BatchRun& run, const ExchangedHop& hop,
                          void* rows);
  // Returns the rows [own + remote, columns] of all sources. `own`: those of
  // the own ones.
  absl::StatusOr<void*> Forward(const BatchRun& run, const ExchangedHop& hop,
                                const void* own);
  // Adds to the own sources' gradients what other parts have for them, in the
  // order of the parts. `gradient` [own + remote, columns].
  absl::Status Backward(const BatchRun& run, const ExchangedHop& hop,
                        void* gradient);

  uint64_t pinned_bytes() const { return out_.bytes() + in_.bytes(); }

 private:
  explicit CudaRowExchange(CudaEvent sent) : sent_(std::move(sent)) {}

  struct TradedRows {
    bool forward = false;
    const void* out = nullptr;  // [num_out] Rows to send, on the device.
    uint64_t num_out = 0;
    uint64_t num_in = 0;  // Number of rows that come.
  };
  // Sends rows. Then in_ has those that came.
  absl::Status Trade(const BatchRun& run, const ExchangedHop& hop,
                     const TradedRows& rows);

  CudaEvent sent_;  // The rows to send are in out_.
  PinnedArray<std::byte> out_;
  PinnedArray<std::byte> in_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_ROW_EXCHANGE_H_
