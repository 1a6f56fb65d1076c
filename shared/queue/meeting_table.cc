#include "shared/queue/meeting_table.h"

#include <atomic>
#include <cstring>

#include "shared/base/threads/futex.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_word.h"

namespace fgnn {
namespace {

// Bits of the step in the word `ready`. More steps than these wrap around.
constexpr int kStepBits = 40;
constexpr uint64_t kStepMask = (uint64_t{1} << kStepBits) - 1;

uint64_t ReadyFor(uint64_t group, StepNumber step) {
  return (group << kStepBits) | ((step.value() + 1) & kStepMask);
}

static_assert(sizeof(GroupId) == sizeof(MeetingWords::id));
using IdWords = std::array<uint64_t, sizeof(GroupId) / sizeof(uint64_t)>;

}  // namespace

MeetingTable::MeetingTable(Segment* segment, OwnerIndex owner)
    : segment_(segment), owner_(owner) {}

uint32_t MeetingTable::num_members() const {
  return segment_->options().num_members;
}

std::optional<uint32_t> MeetingTable::Join() {
  if (owner_ == kNoOwner) return std::nullopt;
  for (uint32_t rank = 0; rank < num_members(); ++rank) {
    uint64_t free = 0;
    if (!SharedWord(segment_->regions().member(rank).owner)
             .compare_exchange_strong(free, PlainIndex(owner_),
                                      std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      continue;
    }
    EndGroup(group());
    return rank;
  }
  return std::nullopt;
}

void MeetingTable::Leave() { Free(owner_); }

bool MeetingTable::ReclaimPlaceOf(OwnerIndex dead_owner) {
  return Free(dead_owner);
}

// The group ends before the place is free. A reaper that dies between the two
// finds the place again, and a new member meets no group of the dead one.
bool MeetingTable::Free(OwnerIndex owner) {
  const std::optional<uint32_t> rank = RankOf(owner);
  if (!rank.has_value()) return false;
  EndGroup(group());
  MemberWords& member = segment_->regions().member(*rank);
  SharedWord(member.ready).store(0, std::memory_order_release);
  uint64_t expected = PlainIndex(owner);
  SharedWord(member.owner)
      .compare_exchange_strong(expected, 0, std::memory_order_acq_rel,
                               std::memory_order_relaxed);
  Announce();
  return true;
}

std::optional<uint32_t> MeetingTable::RankOf(OwnerIndex owner) const {
  if (owner == kNoOwner) return std::nullopt;
  for (uint32_t rank = 0; rank < num_members(); ++rank) {
    if (SharedWord(segment_->regions().member(rank).owner)
            .load(std::memory_order_acquire) == PlainIndex(owner)) {
      return rank;
    }
  }
  return std::nullopt;
}

bool MeetingTable::IsComplete() const {
  for (uint32_t rank = 0; rank < num_members(); ++rank) {
    if (SharedWord(segment_->regions().member(rank).owner)
            .load(std::memory_order_acquire) == 0) {
      return false;
    }
  }
  return true;
}

uint64_t MeetingTable::group() const {
  return SharedWord(segment_->regions().meeting().group)
      .load(std::memory_order_acquire);
}

bool MeetingTable::GoesOn(uint64_t number) const {
  return group() == number && SharedWord(segment_->regions().control().stopped)
                                      .load(std::memory_order_acquire) == 0;
}

void MeetingTable::EndGroup(uint64_t number) {
  SharedWord(segment_->regions().meeting().group)
      .compare_exchange_strong(number, number + 1, std::memory_order_acq_rel,
                               std::memory_order_relaxed);
  Announce();
}

void MeetingTable::SayReady(uint32_t rank, uint64_t number, StepNumber step) {
  const uint64_t ready = ReadyFor(number, step);
  if (SharedWord(segment_->regions().member(rank).ready)
          .exchange(ready, std::memory_order_acq_rel) != ready) {
    Announce();
  }
}

bool MeetingTable::AllReady(uint64_t number, StepNumber step) const {
  const uint64_t ready = ReadyFor(number, step);
  for (uint32_t rank = 0; rank < num_members(); ++rank) {
    if (SharedWord(segment_->regions().member(rank).ready)
            .load(std::memory_order_acquire) != ready) {
      return false;
    }
  }
  return true;
}

// A reader that has seen words of two ids sees another group before or after
// it, as with a sequence lock.
void MeetingTable::PublishId(uint64_t number, const GroupId& id) {
  IdWords words = {};
  std::memcpy(words.data(), id.data(), id.size());
  MeetingWords& meeting = segment_->regions().meeting();
  SharedWord(meeting.id_group).store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t i = 0; i < words.size(); ++i) {
    SharedWord(meeting.id[i]).store(words[i], std::memory_order_relaxed);
  }
  SharedWord(meeting.id_group).store(number, std::memory_order_release);
  Announce();
}

std::optional<GroupId> MeetingTable::FindId(uint64_t number) const {
  MeetingWords& meeting = segment_->regions().meeting();
  const SharedWord of_group(meeting.id_group);
  if (number == 0 || of_group.load(std::memory_order_acquire) != number) {
    return std::nullopt;
  }
  IdWords words = {};
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = SharedWord(meeting.id[i]).load(std::memory_order_relaxed);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  if (of_group.load(std::memory_order_relaxed) != number) return std::nullopt;
  GroupId id = {};
  std::memcpy(id.data(), words.data(), id.size());
  return id;
}

void MeetingTable::Announce() {
  AnnounceOn(&segment_->regions().control().changes);
}

}  // namespace fgnn
