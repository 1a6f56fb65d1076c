// How a host gets what it lacks of another host's gradients.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_HOST_FOLLOWER_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_HOST_FOLLOWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/exchange/host_links.h"

namespace fgnn {

// Another host of the job, and its share: its places of each step.
struct OtherHost {
  uint32_t index = 0;  // Index of the host among the job's.
  std::string name;
  uint64_t first_place = 0;
  uint64_t num_places = 0;
};

// Follows one other host from step to step: asks for the entries that this
// host's board lacks, and writes them. One call at a time. Followers of
// different hosts may run at once.
class HostFollower {
 public:
  // Borrows the segment and the links. `owner`: owner index of the exchange.
  HostFollower(Segment* segment, OwnerIndex owner, HostLinks* links,
               OtherHost host);

  // Follows until the deadline, and tells the other host this host's version at
  // least once. Returns true once the board has all of the other host's entries
  // of the job, and the other host knows it. DataLoss: the two hosts have
  // different weights. Cancelled: the job was stopped. Breaks of the link end
  // nothing: the follower asks again.
  absl::StatusOr<bool> Follow(Deadline deadline);

  // Returns the number of entries that it has written.
  uint64_t num_entries() const { return num_entries_; }
  // Returns how often a link broke, or brought a damaged entry.
  uint64_t num_breaks() const { return num_breaks_; }

 private:
  // Returns the tasks to ask for: those of the lowest step that the board lacks
  // and takes now. DataLoss: see Follow().
  absl::StatusOr<std::vector<BatchPart>> FindLacking();
  // Returns the other host's tasks of the step that the board lacks.
  std::vector<BatchPart> LackingOf(StepNumber step) const;
  // Asks for the entries, or goes on with the request for them that is under
  // way, and writes those that come by the deadline.
  absl::Status Receive(const std::vector<BatchPart>& lacking,
                       Deadline deadline);
  // Writes what comes of the request. Returns whether all of it is here.
  absl::StatusOr<bool> ReceiveSome(Deadline deadline);
  absl::Status Write(const BoardEntry& entry);
  // Compares the other host's weights with the newest ones here, if they are of
  // the same version.
  absl::Status CompareWeights();

  Segment* const segment_;
  HostLinks* const links_;
  const OtherHost host_;
  GradientBoard board_;
  StepNumber next_;  // The step of which entries may lack.
  // The request that is under way. It outlives a call of Follow(), since an
  // entry may take longer than that to come. nullptr: none is.
  std::unique_ptr<EntryStream> stream_;
  std::vector<BatchPart> asked_;  // Its tasks whose entries have not come.
  uint64_t asked_version_ = 0;    // The version that it tells.
  Deadline asked_until_;          // Then it is made again.
  // The version that the other host was told of in this call.
  std::optional<uint64_t> told_;
  // The other host's weights, of the last entry that had their CRC32C; nullopt:
  // they were compared.
  struct TheirWeights {
    uint64_t version = 0;
    uint32_t crc = 0;
  };
  std::optional<TheirWeights> their_weights_;
  bool is_broken_ = false;  // Whether the last answer was a break.
  uint64_t num_entries_ = 0;
  uint64_t num_breaks_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_HOST_FOLLOWER_H_
