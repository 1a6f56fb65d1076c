// Device memory for what a batch computes: handed out bit by bit, taken back
// all at once.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_BATCH_MEMORY_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_BATCH_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/status.h"
#include "shared/device/cuda/device_array.h"

namespace fgnn {

// Keeps its memory from batch to batch. Once the largest batch has been there,
// nothing is allocated any more. Not thread-safe.
class BatchMemory {
 public:
  // Takes back everything. Work on it has ended, or is on the stream on which
  // the next work is queued. Memory in several pieces becomes one.
  void Start();

  // Makes the first piece, of at least `bytes`. ResourceExhausted: no device
  // memory.
  absl::Status Reserve(uint64_t bytes) { return AddPiece(bytes); }

  // Returns T[count] without values at a multiple of 256 bytes, valid until
  // Start(). It is not null, also for a count of 0. ResourceExhausted: no
  // device memory.
  template <typename T>
  absl::StatusOr<T*> Make(uint64_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    FGNN_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(count, sizeof(T)));
    FGNN_ASSIGN_OR_RETURN(std::byte* const memory, Take(bytes));
    return reinterpret_cast<T*>(memory);
  }

  // Bytes that are held.
  uint64_t bytes() const { return bytes_; }

 private:
  absl::StatusOr<std::byte*> Take(uint64_t bytes);
  absl::Status AddPiece(uint64_t least_bytes);

  std::vector<DeviceArray<std::byte>> pieces_;
  uint64_t bytes_ = 0;  // Bytes of all pieces.
  uint64_t taken_ = 0;  // Bytes of the last piece that are taken.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_BATCH_MEMORY_H_
