// A trainer's place among those that exchange gradients by NCCL.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_MEMBER_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_MEMBER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/queue/meeting_table.h"
#include "shared/queue/segment.h"
#include "trainer_service/sync/cuda/nccl_api.h"
#include "trainer_service/sync/cuda/nccl_group.h"

namespace fgnn {

// The member of the groups that meet one after the other, each with a number.
// For each step it calls SayReady() until all are ready, then Find() until it
// has the group. After an error of these, or of the group, it calls End(). One
// call at a time.
class NcclMember {
 public:
  // Takes a place of the segment, which is borrowed. `timeout`: the longest
  // wait for the other members, in one call or until they are ready.
  // FailedPrecondition: all places are taken.
  static absl::StatusOr<std::unique_ptr<NcclMember>> Join(
      const nccl::Api& api, Segment* segment, OwnerIndex owner,
      std::chrono::milliseconds timeout);
  // Leaves the place, which ends the group.
  ~NcclMember();
  NcclMember(const NcclMember&) = delete;
  NcclMember& operator=(const NcclMember&) = delete;

  uint32_t rank() const { return rank_; }
  // Returns the rank of an owner; nullopt: it has no place.
  std::optional<uint32_t> RankOf(OwnerIndex owner) const {
    return table_.RankOf(owner);
  }
  // Returns the number of the group under way; nullopt: a place is free.
  std::optional<uint64_t> group() const;

  // Says that this member is ready for the exchange of a step. Returns whether
  // all members are. DeadlineExceeded: one was not within the timeout.
  absl::StatusOr<bool> SayReady(uint64_t group, StepNumber step);
  // Returns the group, which all members join if this is its first step; null:
  // its id is not known yet. Errors as SayReady() and NcclGroup::Join().
  absl::StatusOr<NcclGroup*> Find(uint64_t group);
  // Ends the group because of an error. Internal: it is the third one in a row
  // while all members were there.
  absl::Status End(uint64_t group, const absl::Status& reason);
  // Says that the group has exchanged a step: the next error is the first one.
  void HasExchanged() { failures_ = 0; }

 private:
  NcclMember(const nccl::Api& api, const MeetingTable& table, uint32_t rank,
             std::chrono::milliseconds timeout)
      : api_(api), table_(table), rank_(rank), timeout_(timeout) {}
  // DeadlineExceeded: this member has been ready for the timeout.
  absl::Status CheckWait() const;

  const nccl::Api api_;
  MeetingTable table_;
  const uint32_t rank_;
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<NcclGroup> group_;
  uint64_t group_number_ = 0;
  Stopwatch ready_;  // Since this member was ready for the step below.
  std::optional<StepNumber> ready_for_;
  int failures_ = 0;  // In a row.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_MEMBER_H_
