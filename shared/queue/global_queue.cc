#include "shared/queue/global_queue.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "shared/base/enum_words.h"
#include "shared/base/status.h"
#include "shared/base/threads/futex.h"
#include "shared/queue/overflow_blocks.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"
#include "shared/queue/slot_word.h"

namespace fgnn {
namespace {

constexpr EnumWord<SlotState> kStates[] = {{SlotState::kFree, "FREE"},
                                           {SlotState::kWriting, "WRITING"},
                                           {SlotState::kReady, "READY"},
                                           {SlotState::kReading, "READING"}};

// Repeats `attempt` until it returns a slot or an error, or the deadline
// passes.
template <typename Slot, typename Attempt>
absl::StatusOr<std::optional<Slot>> RepeatUntil(Deadline deadline,
                                                const uint32_t* counter,
                                                Attempt attempt) {
  for (;;) {
    // The counter is read before the attempt. So a change that the attempt
    // misses ends the wait.
    const uint32_t seen = ReadCounter(counter);
    absl::StatusOr<std::optional<Slot>> slot = attempt();
    if (!slot.ok() || slot->has_value() || MonotonicClock::now() >= deadline) {
      return slot;
    }
    WaitOn(counter, seen, deadline);
  }
}

}  // namespace

GlobalQueue::GlobalQueue(Segment* segment, OwnerIndex owner,
                         std::optional<uint32_t> overflow_block)
    : segment_(segment), owner_(owner), overflow_block_(overflow_block) {}

absl::Status GlobalQueue::CheckMayClaim() const {
  if (stopped()) return absl::CancelledError("the job was stopped");
  if (IsDaemon(owner_)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "owner ", PlainIndex(owner_), " claims no slots of the global queue"));
}

absl::StatusOr<std::optional<WriteSlot>> GlobalQueue::TryClaimForWriting() {
  const SlotTable slots(*segment_);
  for (;;) {
    FGNN_RETURN_IF_ERROR(CheckMayClaim());
    const std::optional<TaskNumber> task = slots.FindLowest(
        SlotState::kFree,
        segment_->shape().TasksOf({BatchSeq(0), sampling_limit()}));
    if (!task.has_value()) return std::optional<WriteSlot>();
    if (!slots.Move(*task, slots.WordOf(*task, SlotState::kFree, kNoOwner),
                    slots.WordOf(*task, SlotState::kWriting, owner_))) {
      continue;  // Another sampler was faster.
    }
    slots.StorePlace(*task, {.sampler = owner_, .overflow_block = {}});
    return std::optional<WriteSlot>(WriteSlot(this, *task, slots.Block(*task)));
  }
}

absl::StatusOr<std::optional<ReadSlot>> GlobalQueue::TryClaimForReading(
    BatchSeq first, BatchSeq last) {
  const SlotTable slots(*segment_);
  const TaskRange tasks = segment_->shape().TasksOf({first, last});
  for (;;) {
    FGNN_RETURN_IF_ERROR(CheckMayClaim());
    const std::optional<TaskNumber> task =
        slots.FindLowest(SlotState::kReady, tasks);
    if (!task.has_value()) return std::optional<ReadSlot>();
    if (!slots.Move(*task, slots.WordOf(*task, SlotState::kReady, kNoOwner),
                    slots.WordOf(*task, SlotState::kReading, owner_))) {
      continue;  // Another trainer was faster.
    }
    const SlotPlace place = slots.LoadPlace(*task);
    const bool overflows =
        place.overflow_block.has_value() &&
        *place.overflow_block < segment_->options().num_overflow_blocks;
    return std::optional<ReadSlot>(ReadSlot(
        this, *task,
        overflows ? segment_->regions().overflow_block(*place.overflow_block)
                  : slots.Block(*task),
        overflows, place.sampler));
  }
}

absl::StatusOr<std::optional<WriteSlot>> GlobalQueue::ClaimForWriting(
    Deadline deadline) {
  return RepeatUntil<WriteSlot>(deadline, &segment_->regions().control().frees,
                                [this] { return TryClaimForWriting(); });
}

absl::StatusOr<std::optional<ReadSlot>> GlobalQueue::ClaimForReading(
    BatchSeq first, BatchSeq last, Deadline deadline) {
  return RepeatUntil<ReadSlot>(
      deadline, &segment_->regions().control().changes,
      [this, first, last] { return TryClaimForReading(first, last); });
}

BatchSeq GlobalQueue::SeqOf(TaskNumber task) const {
  return segment_->shape().TaskOf(task).seq;
}

absl::Status GlobalQueue::Leave(TaskNumber task, SlotState from, SlotState to,
                                uint64_t generations_on) {
  const SlotTable slots(*segment_);
  SlotWord next = slots.WordOf(task, to, kNoOwner);
  next.generation += generations_on;
  if (slots.Move(task, slots.WordOf(task, from, owner_), next)) {
    return absl::OkStatus();
  }
  const SlotWord word = slots.Load(task);
  return absl::FailedPreconditionError(absl::StrCat(
      "slot of batch ", SeqOf(task).value(), " is not ",
      std::string(WordIn(kStates, from, "damaged")), " by owner ",
      PlainIndex(owner_), " at generation ", slots.GenerationOf(task), " but ",
      std::string(WordIn(kStates, word.state, "damaged")), " by owner ",
      PlainIndex(word.owner), " at generation ", word.generation));
}

absl::Status GlobalQueue::TakeOverflowBlock(TaskNumber task,
                                            Deadline deadline) {
  if (overflow_block_.value_or(UINT32_MAX) >=
      segment_->options().num_overflow_blocks) {
    return absl::FailedPreconditionError(
        absl::StrCat("task of batch ", SeqOf(task).value(),
                     " needs an overflow block, but owner ", PlainIndex(owner_),
                     " has none"));
  }
  const Segment::Regions& regions = segment_->regions();
  const SlotTable slots(*segment_);
  const OverflowBlocks blocks(slots, *segment_);
  // The slot points at the block before the block is taken: see
  // OverflowBlocks::TryTake().
  slots.StorePlace(task,
                   {.sampler = owner_, .overflow_block = overflow_block_});
  for (;;) {
    const uint32_t seen = ReadCounter(&regions.control().frees);
    const OverflowBlocks::Attempt attempt =
        blocks.TryTake(*overflow_block_, task);
    if (attempt.retracted) AnnounceFree();
    if (attempt.taken) return absl::OkStatus();
    absl::Status failure;
    if (stopped()) failure = absl::CancelledError("the job was stopped");
    if (MonotonicClock::now() >= deadline) {
      failure = absl::DeadlineExceededError(
          absl::StrCat("overflow block ", *overflow_block_,
                       " did not become free for batch ", SeqOf(task).value()));
    }
    if (!failure.ok()) {
      slots.StorePlace(task, {.sampler = owner_, .overflow_block = {}});
      return failure;
    }
    WaitOn(&regions.control().frees, seen, deadline);
  }
}

uint32_t GlobalQueue::frees() const {
  return ReadCounter(&segment_->regions().control().frees);
}

absl::Status GlobalQueue::WaitForFree(uint32_t seen, Deadline deadline) const {
  if (!stopped()) WaitOn(&segment_->regions().control().frees, seen, deadline);
  return stopped() ? absl::CancelledError("the job was stopped")
                   : absl::OkStatus();
}

SlotCounts GlobalQueue::Counts() const {
  const SlotTable slots(*segment_);
  SlotCounts counts;
  for (uint32_t slot = 0; slot < segment_->options().num_slots; ++slot) {
    switch (slots.Load(slot).state) {
      case SlotState::kFree:
        ++counts.free;
        break;
      case SlotState::kWriting:
        ++counts.writing;
        break;
      case SlotState::kReady:
        ++counts.ready;
        break;
      default:  // A slot with a damaged word counts as taken for ever.
        ++counts.reading;
        break;
    }
  }
  return counts;
}

void GlobalQueue::OpenForSampling(BatchSeq limit) {
  RaiseTo(SharedWord(segment_->regions().control().sampling_limit),
          limit.value());
  AnnounceReady();
  AnnounceFree();
}

BatchSeq GlobalQueue::sampling_limit() const {
  return BatchSeq(SharedWord(segment_->regions().control().sampling_limit)
                      .load(std::memory_order_acquire));
}

void GlobalQueue::Stop() {
  SharedWord(segment_->regions().control().stopped)
      .store(1, std::memory_order_seq_cst);
  AnnounceReady();
  AnnounceFree();
}

bool GlobalQueue::stopped() const {
  return SharedWord(segment_->regions().control().stopped)
             .load(std::memory_order_acquire) != 0;
}

std::vector<BatchSeq> GlobalQueue::ReclaimSlotsOf(OwnerIndex dead_owner) {
  std::vector<BatchSeq> reclaimed;
  if (dead_owner == kNoOwner) return reclaimed;
  const SlotTable slots(*segment_);
  for (uint32_t slot = 0; slot < segment_->options().num_slots; ++slot) {
    const SlotWord word = slots.Load(slot);
    if (word.owner != dead_owner) continue;
    SlotWord before = word;
    before.owner = kNoOwner;
    if (word.state == SlotState::kWriting) {
      before.state = SlotState::kFree;
    } else if (word.state == SlotState::kReading) {
      before.state = SlotState::kReady;
    } else {
      continue;
    }
    const TaskNumber task = slots.TaskIn(slot, word);
    if (slots.Move(task, word, before)) reclaimed.push_back(SeqOf(task));
  }
  // Announced even if nothing was reclaimed: an earlier reaper may have died
  // before its announcement.
  AnnounceReady();
  AnnounceFree();
  return reclaimed;
}

void GlobalQueue::AnnounceReady() {
  AnnounceOn(&segment_->regions().control().changes);
}

void GlobalQueue::AnnounceFree() {
  AnnounceOn(&segment_->regions().control().frees);
}

}  // namespace fgnn
