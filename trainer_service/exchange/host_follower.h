// How a host gets what it lacks of another host's gradients.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_HOST_FOLLOWER_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_HOST_FOLLOWER_H_

#include <cstdint>
#include <map>
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
  // What has come of an entry.
  struct Arrived {
    BatchPart task;
    size_t bytes = 0;  // Number of its gradient's bytes.
    uint32_t crc = 0;  // Their CRC32C.
  };
  // A request that is under way. It outlives a call of Follow(), since an entry
  // may take longer than that to come.
  struct Request {
    std::unique_ptr<EntryStream> stream;
    uint64_t version = 0;              // The version that it tells.
    std::vector<BatchPart> left = {};  // Its tasks whose entries have not come.
    Deadline until = {};               // Then it is made again.
    // The entry that has begun; nullopt: none.
    std::optional<Arrived> arrived = std::nullopt;
  };

  // Returns the other host's tasks of the step that the board lacks.
  std::vector<BatchPart> LackingOf(StepNumber step) const;
  // Asks for what the board lacks of the steps that it takes now, unless a
  // request for it is under way.
  absl::Status AskForLacking();
  // Tells the other host the newest version, unless it was told, or a request
  // that is under way tells it.
  absl::Status Tell();
  // Asks and tells, and writes what comes by the deadline. Unavailable: the
  // link broke.
  absl::Status Exchange(Deadline deadline);
  // Writes what comes of the request, until the deadline or until `version` is
  // not the newest one any more. Returns whether all of it is here.
  absl::StatusOr<bool> Receive(Request& request,
                               std::optional<uint64_t> version,
                               Deadline deadline);
  // Writes a part of an entry to the board.
  absl::Status Write(Request& request, const EntryPart& part);
  // Marks the entry done, all of which is on the board.
  absl::Status Finish(const BatchPart& task, const EntryPart::End& end);
  // Compares the other host's weights with the newest ones here, if they are of
  // the same version.
  absl::Status CompareWeights();

  Segment* const segment_;
  HostLinks* const links_;
  const OtherHost host_;
  GradientBoard board_;
  StepNumber next_;  // The lowest step of which entries may lack.
  std::map<StepNumber, Request> requests_;  // By the step of their tasks.
  std::optional<Request> telling_;  // A request without tasks; nullopt: none.
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
