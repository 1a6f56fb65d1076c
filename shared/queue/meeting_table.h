// Where the trainers of a job meet that exchange gradients as a group, and not
// through the board alone: who has which place, which group is under way, its
// id, and who is ready for its next exchange. A group has the same members as
// long as it lives; its members are trainers of one host.
//
// A group ends when a member leaves, dies, joins or has an error. The number of
// the next one is one higher. A member that waits for others looks whether its
// group still goes on:
//
//   free place ──Join──▶ taken, group + 1 ──Leave or reaper──▶ group + 1, free
//   ready(group, step) of all members ──▶ the exchange of that step
#ifndef FGNN_SHARED_QUEUE_MEETING_TABLE_H_
#define FGNN_SHARED_QUEUE_MEETING_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shared/base/types.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Bytes by which the members of a group find each other.
using GroupId = std::array<std::byte, 128>;

// A process's view of the table. Thread-safe. Borrows the segment, which has
// members but for ReclaimPlaceOf(). `owner`: index of this process.
class MeetingTable {
 public:
  MeetingTable(Segment* segment, OwnerIndex owner);

  uint32_t num_members() const;

  // Takes the first free place, which is the rank in all later groups, and ends
  // the group. nullopt: no place is free.
  std::optional<uint32_t> Join();
  // Frees the place of this owner and ends the group. Does nothing if this
  // owner has no place.
  void Leave();
  // Returns the rank of an owner; nullopt: it has no place.
  std::optional<uint32_t> RankOf(OwnerIndex owner) const;
  // Whether all places are taken.
  bool IsComplete() const;

  // Returns the number of the group that is under way.
  uint64_t group() const;
  // Whether this group is the one under way, and the job was not stopped.
  bool GoesOn(uint64_t group) const;
  // Ends the group, unless another one is under way already.
  void EndGroup(uint64_t group);

  // Says that the member of this rank can exchange the step's gradients in the
  // group.
  void SayReady(uint32_t rank, uint64_t group, StepNumber step);
  // Whether all members have said so, of the same group and step.
  bool AllReady(uint64_t group, StepNumber step) const;

  // Called by rank 0 alone. All members may find the group's id from now on.
  void PublishId(uint64_t group, const GroupId& id);
  // Returns the id of the group; nullopt: it is not published (yet).
  std::optional<GroupId> FindId(uint64_t group) const;

  // Scheduler only, and only after the kernel has said that every process with
  // this index is dead. Leave() of the dead owner. Idempotent. Returns true if
  // it had a place.
  bool ReclaimPlaceOf(OwnerIndex dead_owner);

 private:
  bool Free(OwnerIndex owner);
  void Announce();

  Segment* segment_;
  OwnerIndex owner_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_MEETING_TABLE_H_
