// How a host of a job that goes on from a version gets that version's weights:
// from another host.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_FIRST_WEIGHTS_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_FIRST_WEIGHTS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/queue/segment.h"
#include "trainer_service/exchange/host_links.h"

namespace fgnn {

// What a host sends of a version's weights. Borrowed from the segment: valid
// while the version is the newest one.
struct SentWeights {
  absl::Span<const float> weights;
  absl::Span<const float> optimizer_state;
  WeightsPart::Crcs crcs;
};
// Unavailable: the version is not here yet. FailedPrecondition: it is not the
// newest one any more.
absl::StatusOr<SentWeights> FindWeights(Segment* segment, uint64_t version);

// Returns whether the segment goes on from a version that it does not have.
bool NeedsFirstWeights(Segment* segment);

// Publishes the first version's weights, as host `host` has them. Returns OK if
// another process has published them meanwhile. Unavailable: to be tried again.
// Cancelled: `is_stopped` returned true. `owner`: owner index of the exchange.
absl::Status FetchFirstWeights(Segment* segment, OwnerIndex owner,
                               HostLinks* links, uint32_t host,
                               const std::function<bool()>& is_stopped);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_FIRST_WEIGHTS_H_
