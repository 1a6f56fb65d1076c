// What a host sends of its gradient board to another host.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_ENTRY_SOURCE_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_ENTRY_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/exchange/host_links.h"

namespace fgnn {

// Numbers of one message, 512 KiB: a message has 1 MiB at most.
inline constexpr size_t kFloatsPerPart = size_t{1} << 17;

uint32_t CrcOf(absl::Span<const float> floats);  // Returns their CRC32C.

// Returns the CRC32C of the weights of `version`; nullopt: that version is not
// the newest one.
std::optional<uint32_t> WeightsCrc(const GradientBoard& board,
                                   uint64_t version);

// The versions of the weights that the other hosts have, as they told. A host's
// trainers overwrite the gradients of a step only once all other hosts have
// made that step. Thread-safe.
class OthersVersions {
 public:
  // `others` are the indices of the other hosts. Borrows the segment.
  OthersVersions(Segment* segment, const std::vector<uint32_t>& others);

  // Notes that the host has the version. A lower version than before changes
  // nothing. NotFound: no such host.
  absl::Status Tell(uint32_t host, uint64_t version);

 private:
  Mutex mutex_;
  GradientBoard board_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, uint64_t> versions_ ABSL_GUARDED_BY(mutex_);
};

// Answers one request of another host. One call at a time.
class EntrySource {
 public:
  // Returns InvalidArgument if a task is not this host's, or if the tasks are
  // not of one step. Borrows the segment.
  static absl::StatusOr<EntrySource> Make(
      Segment* segment, std::vector<BatchPart> tasks,
      size_t floats_per_part = kFloatsPerPart);

  // Waits for the next part of an entry that is done. Returns nullopt at the
  // deadline, and once all entries were returned. Cancelled: the job was
  // stopped. FailedPrecondition: the board does not keep the step any more.
  absl::StatusOr<std::optional<EntryPart>> Next(Deadline deadline);
  bool is_over() const { return left_.empty() && !sent_.has_value(); }

 private:
  EntrySource(Segment* segment, StepNumber step, std::vector<BatchPart> tasks,
              size_t floats_per_part);
  absl::Status GoneError() const;
  // Returns GoneError() if the board may have overwritten the step.
  absl::Status CheckKept() const;
  absl::StatusOr<EntryPart> NextPart();

  // What was returned of an entry.
  struct Sent {
    BatchPart task;
    size_t floats = 0;  // Number of its numbers.
    uint32_t crc = 0;   // Their CRC32C.
  };

  GradientBoard board_;
  StepNumber step_;
  size_t floats_per_part_;
  std::vector<BatchPart> left_;  // Tasks whose entries have not begun.
  std::optional<Sent> sent_;     // The entry that has begun; nullopt: none.
  std::optional<uint32_t> weights_crc_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_ENTRY_SOURCE_H_
