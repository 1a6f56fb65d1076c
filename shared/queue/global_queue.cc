#include "shared/queue/global_queue.h"

#include <atomic>
#include <type_traits>
#include <utility>

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

template <typename Slot>
bool IsNothing(const std::optional<Slot>& slot) {
  return !slot.has_value();
}
template <typename Slot>
bool IsNothing(const std::vector<Slot>& slots) {
  return slots.empty();
}

// Repeats `attempt` until it returns slots or an error, or the deadline passes.
template <typename Attempt>
std::invoke_result_t<Attempt> RepeatUntil(Deadline deadline,
                                          const uint32_t* counter,
                                          Attempt attempt) {
  for (;;) {
    // The counter is read before the attempt. So a change that the attempt
    // misses ends the wait.
    const uint32_t seen = ReadCounter(counter);
    std::invoke_result_t<Attempt> claimed = attempt();
    if (!claimed.ok() || !IsNothing(*claimed) ||
        MonotonicClock::now() >= deadline) {
      return claimed;
    }
    WaitOn(counter, seen, deadline);
  }
}

// Returns the batch to which the task belongs.
BatchSeq SeqOf(const Segment& segment, TaskNumber task) {
  return segment.shape().TaskOf(task).seq;
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

std::optional<WriteSlot> GlobalQueue::TakeToWrite(TaskNumber task) {
  const SlotTable slots(*segment_);
  if (!slots.Move(task, slots.WordOf(task, SlotState::kFree, kNoOwner),
                  slots.WordOf(task, SlotState::kWriting, owner_))) {
    return std::nullopt;
  }
  slots.StorePlace(task, {.sampler = owner_, .overflow_block = {}});
  return WriteSlot(this, task, slots.Block(task));
}

std::optional<ReadSlot> GlobalQueue::TakeToRead(TaskNumber task) {
  const SlotTable slots(*segment_);
  if (!slots.Move(task, slots.WordOf(task, SlotState::kReady, kNoOwner),
                  slots.WordOf(task, SlotState::kReading, owner_))) {
    return std::nullopt;
  }
  const SlotPlace place = slots.LoadPlace(task);
  const bool overflows =
      place.overflow_block.has_value() &&
      *place.overflow_block < segment_->options().num_overflow_blocks;
  return ReadSlot(
      this, task,
      overflows ? segment_->regions().overflow_block(*place.overflow_block)
                : slots.Block(task),
      overflows, place.sampler);
}

absl::StatusOr<std::optional<WriteSlot>> GlobalQueue::TryClaimForWriting() {
  const SlotTable slots(*segment_);
  for (;;) {
    FGNN_RETURN_IF_ERROR(CheckMayClaim());
    const std::optional<TaskNumber> task = slots.FindLowest(
        SlotState::kFree,
        segment_->shape().TasksOf({BatchSeq(0), sampling_limit()}));
    if (!task.has_value()) return std::optional<WriteSlot>();
    std::optional<WriteSlot> slot = TakeToWrite(*task);
    if (slot.has_value()) return slot;
    // Another sampler was faster.
  }
}

absl::StatusOr<std::vector<WriteSlot>> GlobalQueue::TryClaimBatchForWriting() {
  FGNN_ASSIGN_OR_RETURN(std::optional<WriteSlot> lowest, TryClaimForWriting());
  std::vector<WriteSlot> claimed;
  if (!lowest.has_value()) return claimed;
  const TaskNumber lowest_task = lowest->task();
  const TaskRange batch = TasksOfBatchOf(segment_->shape(), lowest_task);
  for (TaskNumber task = batch.begin; task < batch.end; ++task) {
    std::optional<WriteSlot> slot =
        task == lowest_task ? std::move(lowest) : TakeToWrite(task);
    if (slot.has_value()) claimed.push_back(*std::move(slot));
  }
  return claimed;
}

absl::StatusOr<std::optional<ReadSlot>> GlobalQueue::TryClaimForReading(
    BatchSeq first, BatchSeq last, std::optional<uint32_t> home_part) {
  const SlotTable slots(*segment_);
  const TaskRange tasks = segment_->shape().TasksOf({first, last});
  for (;;) {
    FGNN_RETURN_IF_ERROR(CheckMayClaim());
    const std::optional<TaskNumber> task =
        slots.FindLowest(SlotState::kReady, tasks, home_part);
    if (!task.has_value()) return std::optional<ReadSlot>();
    std::optional<ReadSlot> slot = TakeToRead(*task);
    if (slot.has_value()) return slot;
    // Another trainer was faster.
  }
}

absl::StatusOr<std::optional<ReadSlot>> GlobalQueue::TryClaimPart(
    const BatchPart& task) {
  FGNN_RETURN_IF_ERROR(CheckMayClaim());
  return TakeToRead(segment_->shape().NumberOf(task));
}

std::optional<SlotState> GlobalQueue::StateOf(const BatchPart& task) const {
  const SlotTable slots(*segment_);
  const TaskNumber number = segment_->shape().NumberOf(task);
  const SlotWord word = slots.Load(number);
  const uint64_t generation = slots.GenerationOf(number);
  if (word.generation > generation) return std::nullopt;
  return word.generation < generation ? SlotState::kFree : word.state;
}

absl::StatusOr<std::optional<WriteSlot>> GlobalQueue::ClaimForWriting(
    Deadline deadline) {
  return RepeatUntil(deadline, &segment_->regions().control().frees,
                     [this] { return TryClaimForWriting(); });
}

absl::StatusOr<std::vector<WriteSlot>> GlobalQueue::ClaimBatchForWriting(
    Deadline deadline) {
  return RepeatUntil(deadline, &segment_->regions().control().frees,
                     [this] { return TryClaimBatchForWriting(); });
}

absl::StatusOr<std::optional<ReadSlot>> GlobalQueue::ClaimForReading(
    BatchSeq first, BatchSeq last, Deadline deadline) {
  return RepeatUntil(
      deadline, &segment_->regions().control().changes,
      [this, first, last] { return TryClaimForReading(first, last); });
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
      "slot of batch ", SeqOf(*segment_, task).value(), " is not ",
      std::string(WordIn(kStates, from, "damaged")), " by owner ",
      PlainIndex(owner_), " at generation ", slots.GenerationOf(task), " but ",
      std::string(WordIn(kStates, word.state, "damaged")), " by owner ",
      PlainIndex(word.owner), " at generation ", word.generation));
}

absl::StatusOr<absl::Span<std::byte>> GlobalQueue::TakeOverflowBlock(
    TaskNumber task, Deadline deadline) {
  const uint64_t of_part = uint64_t{overflow_block_.value_or(UINT32_MAX)} +
                           segment_->shape().TaskOf(task).part;
  if (of_part >= segment_->options().num_overflow_blocks) {
    return absl::FailedPreconditionError(
        absl::StrCat("task of batch ", SeqOf(*segment_, task).value(),
                     " needs an overflow block, but owner ", PlainIndex(owner_),
                     " has none"));
  }
  const auto block = static_cast<uint32_t>(of_part);
  const Segment::Regions& regions = segment_->regions();
  const SlotTable slots(*segment_);
  const OverflowBlocks blocks(slots, *segment_);
  // The slot points at the block before the block is taken: see
  // OverflowBlocks::TryTake().
  slots.StorePlace(task, {.sampler = owner_, .overflow_block = block});
  for (;;) {
    const uint32_t seen = ReadCounter(&regions.control().frees);
    const OverflowBlocks::Attempt attempt = blocks.TryTake(block, task);
    if (attempt.retracted) AnnounceFree();
    if (attempt.taken) return regions.overflow_block(block);
    absl::Status failure;
    if (stopped()) failure = absl::CancelledError("the job was stopped");
    if (MonotonicClock::now() >= deadline) {
      failure = absl::DeadlineExceededError(absl::StrCat(
          "overflow block ", block, " did not become free for batch ",
          SeqOf(*segment_, task).value()));
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

std::vector<BatchPart> GlobalQueue::ReclaimSlotsOf(OwnerIndex dead_owner) {
  std::vector<BatchPart> reclaimed;
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
    if (slots.Move(task, word, before)) {
      reclaimed.push_back(segment_->shape().TaskOf(task));
    }
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
