// Reads of one file, with many in flight at once.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_READ_QUEUE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_READ_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fgnn {

struct EndedRead {
  uint32_t slot = 0;
  int32_t result = 0;  // Number of bytes, or an errno below zero.
};

// Used by one thread at a time. Tests replace it to simulate damaged disks.
class ReadQueue {
 public:
  virtual ~ReadQueue() = default;

  // Begins a read of to.size() bytes at `offset`; `slot` names the read. At
  // most as many reads may be in flight as the queue was made for. `to` must
  // live until the read has ended.
  virtual void Begin(uint32_t slot, uint64_t offset,
                     absl::Span<std::byte> to) = 0;

  // Hands the begun reads to the kernel. Returns the reads that have ended
  // since the last call, at least one if `wait`. Valid until the next call.
  // Unavailable: none ended in time; the queue cannot be used any more.
  virtual absl::StatusOr<absl::Span<const EndedRead>> Take(bool wait) = 0;
};

// Makes a queue on an open file, for reads of `depth` slots.
using MakeReadQueue = std::function<absl::StatusOr<std::unique_ptr<ReadQueue>>(
    int fd, uint32_t depth)>;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_READ_QUEUE_H_
