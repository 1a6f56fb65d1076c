#include "shared/queue/device_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <optional>

#include "shared/base/threads/futex.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"
#include "shared/queue/slot_word.h"

namespace fgnn {
namespace {

// A role slice: its owner and work. The word's `generation` has the device's
// last work and the number of its wakes. Both stay when the slice ends.
using SliceWord = OwnedWord<DeviceWork>;
constexpr int kLastBits = 2;
constexpr uint64_t kLastMask = (1 << kLastBits) - 1;

// Bits of one plan in the plan word: see DeviceWords.
constexpr int kPlanBits = 8;
constexpr uint64_t kPlanMask = (1 << kPlanBits) - 1;

// Share of a new value in a moving average.
constexpr double kShareOfNew = 0.125;

bool IsWork(DeviceWork work) {
  return work == DeviceWork::kSample || work == DeviceWork::kTrain;
}

bool IsHeld(SliceWord slice) {
  return IsDaemon(slice.owner) && IsWork(slice.state);
}

DeviceWork LastOf(SliceWord slice) {
  const auto last = static_cast<DeviceWork>(slice.generation & kLastMask);
  return IsWork(last) ? last : DeviceWork::kNothing;
}

uint64_t WakesOf(SliceWord slice) { return slice.generation >> kLastBits; }

SliceWord Nobody(SliceWord slice, DeviceWork last) {
  return {DeviceWork::kNothing, kNoOwner,
          (WakesOf(slice) << kLastBits) | static_cast<uint64_t>(last)};
}

SharedWord SliceWordOf(const Segment& segment, uint32_t device) {
  return SharedWord(segment.regions().device(device).slice);
}

SliceWord LoadSlice(const Segment& segment, uint32_t device) {
  return SliceWord::Unpack(
      SliceWordOf(segment, device).load(std::memory_order_acquire));
}

bool MoveSlice(const Segment& segment, uint32_t device, SliceWord from,
               SliceWord to) {
  uint64_t expected = from.Pack();
  return SliceWordOf(segment, device)
      .compare_exchange_strong(expected, to.Pack(), std::memory_order_acq_rel,
                               std::memory_order_relaxed);
}

double LoadSeconds(uint64_t& word) {
  const auto seconds =
      std::bit_cast<double>(SharedWord(word).load(std::memory_order_relaxed));
  return std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

void StoreSeconds(uint64_t& word, double seconds) {
  SharedWord(word).store(std::bit_cast<uint64_t>(seconds),
                         std::memory_order_relaxed);
}

// Adds the seconds to a moving average. One writer at a time.
void Average(uint64_t& word, double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0) return;
  const double before = LoadSeconds(word);
  StoreSeconds(
      word, before == 0 ? seconds : before + kShareOfNew * (seconds - before));
}

// The tasks of the epoch that is open for training, and the end of the tasks of
// its open steps. Empty if no epoch is open.
struct OpenEpoch {
  TaskRange tasks;
  TaskNumber steps_end;
};

OpenEpoch OpenEpochOf(const GradientBoard& board, const JobShape& shape) {
  const std::optional<OpenSteps> open = board.FindOpenSteps();
  if (!open.has_value()) return {};
  const uint64_t epoch = shape.EpochOfStep(open->first);
  return {.tasks = shape.TasksOf(shape.BatchesOfEpoch(epoch)),
          .steps_end = shape.TasksOf({BatchSeq(0), open->last_batch}).end};
}

// Returns how many of the tasks first, first + stride, … below `last` are in
// the epoch.
uint64_t CountInEpoch(TaskNumber first, TaskNumber last, uint64_t stride,
                      const TaskRange& epoch) {
  const auto below = [first, stride](TaskNumber end) {
    return end <= first ? 0 : (end - first + stride - 1) / stride;
  };
  const TaskNumber end = std::min(last, epoch.end);
  return end <= epoch.begin ? 0 : below(end) - below(epoch.begin);
}

// Fills in the snapshot's numbers of batches. Looks at the tasks from the
// oldest one that is not released (see SlotTable::FindLowest()) to the limit.
void LookAtSlots(const Segment& segment, TaskNumber limit,
                 const OpenEpoch& epoch, SwitchSnapshot* snapshot) {
  const SlotTable slots(segment);
  const JobShape& shape = segment.shape();
  const uint32_t num_slots = shape.num_slots();
  const bool has_parts = segment.options().parts > 1;
  const TaskNumber oldest =
      std::min(TaskNumber(SharedWord(segment.regions().control().oldest_task)
                              .load(std::memory_order_relaxed)),
               shape.num_tasks());
  uint64_t taken = CountInEpoch(TaskNumber(), oldest, 1, epoch.tasks);
  TaskSlot at = shape.SlotOf(oldest);
  const TaskNumber end = std::min(limit, oldest + num_slots);
  for (TaskNumber task = oldest; task < end; ++task, at = shape.Next(at)) {
    const SlotWord word = slots.Load(at.slot);
    const TaskNumber now = slots.TaskIn(at.slot, word);
    if (now > task) taken += CountInEpoch(task, now, num_slots, epoch.tasks);
    if (word.generation >= at.generation && now < limit) {
      const bool is_open = now < epoch.steps_end;
      const bool is_nobodys = word.owner == kNoOwner;
      if (word.state == SlotState::kFree && is_nobodys) {
        // Samplers claim a part only if its whole batch has room.
        const bool has_room = !has_parts || slots.HasRoom(now);
        snapshot->free_batches += has_room ? 1 : 0;
        snapshot->missing_batches += has_room && is_open ? 1 : 0;
      } else if (word.state == SlotState::kReady && is_nobodys) {
        ++snapshot->queued_batches;
        // Trainers take a part only if its batch is whole.
        snapshot->trainable_batches +=
            is_open && (!has_parts || slots.IsWhole(now)) ? 1 : 0;
      } else if (word.state == SlotState::kReading) {
        taken += now >= epoch.tasks.begin && now < epoch.tasks.end ? 1 : 0;
      }
    }
  }
  const uint64_t all = epoch.tasks.size();
  snapshot->batches_left = all - std::min(all, taken);
}

// Returns the plan with this number; kSample, as in a new word, if there is
// none.
DevicePlan PlanOf(uint64_t number) {
  return number <= static_cast<uint64_t>(DevicePlan::kOnlySample)
             ? static_cast<DevicePlan>(number)
             : DevicePlan::kSample;
}

// Returns the same plan for a device that is not lost: kSample for kLost.
DevicePlan RoleOf(uint64_t number) {
  const DevicePlan plan = PlanOf(number);
  return plan == DevicePlan::kLost ? DevicePlan::kSample : plan;
}

// Whether a device that has no slice to train may get one in time to share the
// open steps.
bool MayTrain(const SwitchSnapshot& snapshot) {
  switch (snapshot.plan) {
    case DevicePlan::kTrain:
    case DevicePlan::kTimeShare:
      return true;
    case DevicePlan::kLost:
    case DevicePlan::kOnlySample:
      return false;
    case DevicePlan::kSample:
      break;
  }
  return snapshot.switching && !IsSamplingDue(snapshot);
}

double Mean(double sum, uint32_t count) { return count > 0 ? sum / count : 0; }

}  // namespace

DeviceTable::DeviceTable(Segment* segment, OwnerIndex owner)
    : segment_(segment), owner_(owner) {}

uint32_t DeviceTable::num_devices() const {
  return segment_->options().num_devices;
}

void DeviceTable::SetPlan(uint32_t device, DevicePlan plan,
                          std::optional<DevicePlan> released) {
  if (num_devices() == 0) return;
  // One store: a scheduler that is started again finds both plans, or neither.
  const uint64_t hand =
      released.has_value() ? static_cast<uint64_t>(*released) + 1 : 0;
  SharedWord(segment_->regions().device(device).plan)
      .store(hand << kPlanBits | static_cast<uint64_t>(plan),
             std::memory_order_release);
  Announce();
}

DevicePlan DeviceTable::plan(uint32_t device) const {
  if (num_devices() == 0) return DevicePlan::kSample;
  const uint64_t word = SharedWord(segment_->regions().device(device).plan)
                            .load(std::memory_order_acquire);
  return PlanOf(word & kPlanMask);
}

std::optional<DevicePlan> DeviceTable::released(uint32_t device) const {
  if (num_devices() == 0) return std::nullopt;
  const uint64_t word = SharedWord(segment_->regions().device(device).plan)
                            .load(std::memory_order_acquire);
  const uint64_t hand = word >> kPlanBits & kPlanMask;
  if (hand == 0) return std::nullopt;
  return RoleOf(hand - 1);
}

void DeviceTable::SetCachedAs(uint32_t device, DevicePlan plan) {
  if (num_devices() == 0) return;
  SharedWord(segment_->regions().device(device).cached_as)
      .store(static_cast<uint64_t>(plan), std::memory_order_release);
  Announce();
}

DevicePlan DeviceTable::cached_as(uint32_t device) const {
  if (num_devices() == 0) return DevicePlan::kTrain;
  return RoleOf(SharedWord(segment_->regions().device(device).cached_as)
                    .load(std::memory_order_acquire));
}

TrainerCache DeviceTable::cache(uint32_t device) const {
  const CachePlan plan = segment_->cache_plan();
  const bool is_standby = cached_as(device) == DevicePlan::kSample;
  return {.rank_order_key = plan.rank_order_key,
          .rows = is_standby ? plan.standby_rows : plan.rows,
          .table = plan.table};
}

void DeviceTable::SetTimes(uint32_t device, const DeviceTimes& times) {
  if (num_devices() == 0) return;
  DeviceWords& words = segment_->regions().device(device);
  StoreSeconds(words.sample_seconds, times.sample);
  StoreSeconds(words.train_seconds, times.train);
  StoreSeconds(words.standby_seconds, times.standby);
}

DeviceTimes DeviceTable::times(uint32_t device) const {
  if (num_devices() == 0) return {};
  DeviceWords& words = segment_->regions().device(device);
  return {.sample = LoadSeconds(words.sample_seconds),
          .train = LoadSeconds(words.train_seconds),
          .standby = LoadSeconds(words.standby_seconds)};
}

void DeviceTable::AddSampleTime(uint32_t device, double seconds) {
  if (num_devices() == 0) return;
  Average(segment_->regions().device(device).sample_seconds, seconds);
}

void DeviceTable::AddTrainTime(uint32_t device, double seconds) {
  if (num_devices() == 0) return;
  DeviceWords& words = segment_->regions().device(device);
  const DevicePlan planned = plan(device);
  // It is not known whether the batch was begun as a standby trainer's.
  if (planned == DevicePlan::kLost) return;
  Average(planned == DevicePlan::kSample ? words.standby_seconds
                                         : words.train_seconds,
          seconds);
}

void DeviceTable::AddWakeTime(uint32_t device, double seconds) {
  if (num_devices() == 0) return;
  // For doubles that are not below 0, the order of the bits is the order of the
  // values.
  RaiseTo(SharedWord(segment_->regions().device(device).wake_seconds),
          std::bit_cast<uint64_t>(std::max(seconds, 0.0)));
}

double DeviceTable::TakeLongestWake(uint32_t device) {
  if (num_devices() == 0) return 0;
  uint64_t taken = SharedWord(segment_->regions().device(device).wake_seconds)
                       .exchange(0, std::memory_order_relaxed);
  return LoadSeconds(taken);
}

bool DeviceTable::TryTakeSlice(uint32_t device, DeviceWork work) {
  if (num_devices() == 0 || owner_ == kNoOwner || !IsWork(work)) return false;
  const SliceWord now = LoadSlice(*segment_, device);
  if (IsHeld(now)) return false;
  const DeviceWork last = LastOf(now);
  const bool wakes = work == DeviceWork::kTrain && last != DeviceWork::kTrain &&
                     plan(device) == DevicePlan::kSample;
  const uint64_t num_wakes = WakesOf(now) + (wakes ? 1 : 0);
  return MoveSlice(
      *segment_, device, now,
      {work, owner_, (num_wakes << kLastBits) | static_cast<uint64_t>(last)});
}

void DeviceTable::EndSlice(uint32_t device, DeviceWork last_done) {
  if (num_devices() == 0) return;
  const SliceWord now = LoadSlice(*segment_, device);
  if (!IsHeld(now) || now.owner != owner_) return;
  const DeviceWork last = IsWork(last_done) ? last_done : LastOf(now);
  if (MoveSlice(*segment_, device, now, Nobody(now, last))) Announce();
}

DeviceWork DeviceTable::working(uint32_t device) const {
  if (num_devices() == 0) return DeviceWork::kNothing;
  const SliceWord slice = LoadSlice(*segment_, device);
  return IsHeld(slice) ? slice.state : DeviceWork::kNothing;
}

uint64_t DeviceTable::wakes(uint32_t device) const {
  return num_devices() == 0 ? 0 : WakesOf(LoadSlice(*segment_, device));
}

bool DeviceTable::ReclaimSlicesOf(OwnerIndex dead_owner) {
  if (num_devices() == 0 || dead_owner == kNoOwner) return false;
  bool reclaimed = false;
  for (uint32_t device = 0; device < num_devices(); ++device) {
    const SliceWord slice = LoadSlice(*segment_, device);
    if (!IsHeld(slice) || slice.owner != dead_owner) continue;
    reclaimed |=
        MoveSlice(*segment_, device, slice, Nobody(slice, LastOf(slice)));
  }
  // Announced even if nothing was reclaimed: an earlier reaper may have died
  // before its announcement.
  Announce();
  return reclaimed;
}

SwitchSnapshot DeviceTable::Snapshot(uint32_t device) const {
  return SnapshotOf(device, SnapshotOfAll());
}

SwitchSnapshot DeviceTable::SnapshotOf(uint32_t device,
                                       SwitchSnapshot of_all) const {
  of_all.plan = plan(device);
  of_all.standby_seconds = times(device).standby;
  if (num_devices() > 0) of_all.last = LastOf(LoadSlice(*segment_, device));
  return of_all;
}

SwitchSnapshot DeviceTable::SnapshotOfAll() const {
  const SegmentOptions& options = segment_->options();
  SwitchSnapshot snapshot;
  snapshot.switching = options.switching != 0;
  snapshot.num_slots = options.num_slots;

  const GradientBoard board(segment_, kNoOwner);
  const JobShape& shape = segment_->shape();
  const BatchSeq limit = GlobalQueue(segment_, kNoOwner).sampling_limit();
  LookAtSlots(*segment_, shape.TasksOf({BatchSeq(0), limit}).end,
              OpenEpochOf(board, shape), &snapshot);
  // A due step is work for a trainer, also if the device has no batch for it.
  if (board.IsStepDue()) ++snapshot.trainable_batches;

  double planned_sum = 0;
  double other_sum = 0;
  uint32_t num_planned = 0;
  uint32_t num_others = 0;
  for (uint32_t i = 0; i < num_devices(); ++i) {
    const DevicePlan planned = plan(i);
    if (planned == DevicePlan::kLost) continue;
    const bool is_planned = planned == DevicePlan::kTrain;
    if (is_planned) ++snapshot.num_trainers;
    const DeviceTimes known = times(i);
    const double seconds = known.train > 0 ? known.train : known.standby;
    if (seconds == 0) continue;
    (is_planned ? planned_sum : other_sum) += seconds;
    ++(is_planned ? num_planned : num_others);
  }
  snapshot.train_seconds = num_planned > 0 ? Mean(planned_sum, num_planned)
                                           : Mean(other_sum, num_others);
  return snapshot;
}

uint32_t DeviceTable::NumTraining() const {
  const SwitchSnapshot of_all = SnapshotOfAll();
  uint32_t training = 0;
  for (uint32_t i = 0; i < num_devices(); ++i) {
    if (working(i) == DeviceWork::kTrain || MayTrain(SnapshotOf(i, of_all))) {
      ++training;
    }
  }
  return std::max(training, 1u);
}

void DeviceTable::Announce() {
  AnnounceOn(&segment_->regions().control().changes);
  AnnounceOn(&segment_->regions().control().frees);
}

}  // namespace fgnn
