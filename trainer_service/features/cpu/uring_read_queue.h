// A ReadQueue by io_uring.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_URING_READ_QUEUE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_URING_READ_QUEUE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "trainer_service/features/cpu/read_queue.h"

namespace fgnn {

// FailedPrecondition: the kernel has no io_uring, or the container's rules
// forbid it. ResourceExhausted: no memory for a ring.
absl::StatusOr<std::unique_ptr<ReadQueue>> MakeUringReadQueue(int fd,
                                                              uint32_t depth);

// Returns the error of MakeUringReadQueue() for a kernel that refuses a ring
// with this errno.
absl::Status RefusedRing(int error);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_URING_READ_QUEUE_H_
