// The links from this host to the other hosts of a job. A host asks another one
// for entries of its gradient board. Entries are keyed, written once, and a
// pure function of the job. So a host may ask for them in any order, and again
// after any break.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_HOST_LINKS_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_HOST_LINKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/measured/host_reach.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/job_shape.h"

namespace fgnn {

// A part of an entry of a host's gradient board. An entry is the gradient of a
// task that is done. Its parts follow each other.
struct EntryPart {
  BatchPart task;
  // The next numbers of the gradient: f32, little-endian.
  std::string floats = {};
  // What comes with the last part; nullopt: more parts follow.
  struct End {
    BatchRecord record = {};
    uint32_t gradient_crc = 0;  // CRC32C of the whole gradient.
    // CRC32C of the weights from which the task's step is made; nullopt: the
    // host did not have them any more.
    std::optional<uint32_t> weights_crc = std::nullopt;
  };
  std::optional<End> end = std::nullopt;
};

// Entries that another host sends once each is done. One call at a time.
class EntryStream {
 public:
  virtual ~EntryStream() = default;
  // Waits for the next part of an entry. Returns nullopt at the deadline, and
  // behind the last entry. Unavailable: the link is broken, and the caller asks
  // again for what it lacks.
  virtual absl::StatusOr<std::optional<EntryPart>> Next(Deadline deadline) = 0;
  // Returns whether the other host has sent all that was asked for.
  virtual bool is_over() = 0;
};

// A part of a version's weights, or of its optimizer state behind them.
struct WeightsPart {
  absl::Span<const float> floats;
  // With the last part: CRC32C of the weights, and of the optimizer state.
  struct Crcs {
    uint32_t weights = 0;
    uint32_t optimizer_state = 0;
  };
  std::optional<Crcs> crcs = std::nullopt;
};
using TakeWeights = absl::FunctionRef<absl::Status(const WeightsPart&)>;

// Thread-safe.
class HostLinks {
 public:
  virtual ~HostLinks() = default;
  // Tells host `host` that this host has `version` of the weights, and asks for
  // the entries of these tasks, which are of one step and of that host. There
  // may be no tasks. Does not wait for an answer.
  virtual absl::StatusOr<std::unique_ptr<EntryStream>> Ask(
      uint32_t host, uint64_t version, const std::vector<BatchPart>& tasks) = 0;
  // Calls `take` with the parts of that version's weights on host `host`, in
  // their order. Ends with the first error of `take`. Unavailable: the link is
  // broken, or the host does not have that version yet.
  virtual absl::Status CopyWeights(uint32_t host, uint64_t version,
                                   TakeWeights take) = 0;
  // Calls the exchange of host `host`, whatever its job, and measures the link.
  // Takes some round trips and the time of 4 MiB, 10 s at most. Asks
  // `is_stopped` about ten times a second. Cancelled: it returned true. Other
  // errors say why the host cannot be reached.
  virtual absl::StatusOr<LinkQuality> Probe(
      uint32_t host, const std::function<bool()>& is_stopped) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_HOST_LINKS_H_
