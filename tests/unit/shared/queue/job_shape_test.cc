// Against a slow reference that counts what the shape calculates; and a job of
// several parts and hosts that walks through slots and board places.
#include "shared/queue/job_shape.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fgnn {

void PrintTo(TaskNumber number, std::ostream* out) {
  *out << "task " << number.value();
}

void PrintTo(BatchSeq seq, std::ostream* out) {
  *out << "batch " << seq.value();
}

void PrintTo(StepNumber step, std::ostream* out) {
  *out << "step " << step.value();
}

namespace {

// Passing one kind of number as another one has to fail to compile.
template <typename From, typename To>
inline constexpr bool kPassesAs = std::is_convertible_v<From, To>;
static_assert(!kPassesAs<StepNumber, TaskNumber>);
static_assert(!kPassesAs<TaskNumber, StepNumber>);
static_assert(!kPassesAs<StepNumber, BatchSeq>);
static_assert(!kPassesAs<BatchSeq, StepNumber>);
static_assert(!kPassesAs<TaskNumber, BatchSeq>);
static_assert(!kPassesAs<BatchSeq, TaskNumber>);
static_assert(!kPassesAs<BatchSeq, uint64_t>);
static_assert(!kPassesAs<uint64_t, BatchSeq>);
static_assert(!std::is_constructible_v<StepNumber, TaskNumber>);
static_assert(!std::is_constructible_v<StepNumber, BatchSeq>);
static_assert(!kPassesAs<uint16_t, OwnerIndex>);
static_assert(!kPassesAs<OwnerIndex, uint32_t>);
// In memory, each type is as the plain number that it holds.
static_assert(sizeof(OwnerIndex) == sizeof(uint16_t));
static_assert(sizeof(StepNumber) == sizeof(uint64_t));
static_assert(sizeof(BatchSeq) == sizeof(uint64_t));
static_assert(std::is_trivially_copyable_v<StepNumber>);

// One task of a job, found by going through the job batch by batch.
struct CountedTask {
  BatchPart task;
  BatchPlace in_epoch;
  StepNumber step;
  uint32_t batch_of_step;
  uint32_t place;   // On the board.
  uint64_t record;  // Of the epoch's.
  uint32_t host;    // That samples and trains it.
};

// Which places of a step each host has: host h those below ends[h] that no host
// before it has.
using Shares = std::vector<uint32_t>;

uint32_t HostOf(uint32_t place, const Shares& ends) {
  uint32_t host = 0;
  while (ends[host] <= place) ++host;
  return host;
}

// Returns the options of one host's segment.
SegmentOptions OfHost(SegmentOptions options, const Shares& ends,
                      uint32_t host) {
  options.num_hosts = ends.size();
  options.places_before = host == 0 ? 0 : ends[host - 1];
  options.places_after = ends.back() - ends[host];
  return options;
}

// Returns all tasks of the job, of all hosts.
std::vector<CountedTask> CountTasks(const SegmentOptions& options,
                                    const Shares& ends) {
  std::vector<CountedTask> tasks;
  BatchSeq seq;
  StepNumber step;
  uint32_t open_step = 0;  // Counts the steps that are open at once.
  for (uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
    uint64_t record = 0;
    uint32_t batch_of_step = 0;
    for (uint64_t batch = 0; batch < options.batches_per_epoch; ++batch) {
      const uint32_t host = HostOf(batch_of_step, ends);
      const auto parts = static_cast<uint32_t>(options.parts);
      for (uint32_t part = 0; part < parts; ++part) {
        const uint32_t place =
            (open_step * options.batches_per_step + batch_of_step) * parts +
            part;
        tasks.push_back({.task = {seq, part},
                         .in_epoch = {epoch, batch},
                         .step = step,
                         .batch_of_step = batch_of_step,
                         .place = place,
                         .record = record++,
                         .host = host});
      }
      ++seq;
      const bool ends_step = ++batch_of_step == options.batches_per_step ||
                             batch + 1 == options.batches_per_epoch;
      if (!ends_step) continue;
      batch_of_step = 0;
      ++step;
      // With several hosts, the next step's places are kept as well.
      const uint64_t last = options.staleness + (ends.size() > 1 ? 1 : 0);
      open_step = open_step == last ? 0 : open_step + 1;
    }
  }
  return tasks;
}

// Gets the options of one host's segment, all hosts' shares, and its index.
using ShapeCheck = std::function<void(const SegmentOptions& options,
                                      const Shares& ends, uint32_t host)>;

// Equal shares for 1 to 4 hosts, and unequal ones for two and three, one of
// which may have no places.
std::vector<Shares> SharesOf(uint32_t places) {
  std::vector<Shares> all;
  for (uint32_t hosts = 1; hosts <= std::min(places, 4u); ++hosts) {
    Shares& ends = all.emplace_back();
    for (uint32_t host = 1; host <= hosts; ++host) {
      ends.push_back(host * places / hosts);
    }
  }
  if (places > 3) all.push_back({1, places});
  if (places > 4) all.push_back({places - 2, places - 1, places});
  if (places == 3) all.insert(all.end(), {{0, 3}, {3, 3}, {2, 2, 3}});
  return all;
}

// All small shapes, for each of their hosts.
void ForEachShape(const ShapeCheck& check) {
  SegmentOptions options;
  options.epochs = 2;
  for (options.batches_per_epoch = 1; options.batches_per_epoch <= 9;
       ++options.batches_per_epoch) {
    for (const uint32_t batches_per_step : {1, 2, 3, 4, 5, 11}) {
      options.batches_per_step = batches_per_step;
      options.staleness = batches_per_step % 3;
      options.num_slots = 1 + batches_per_step % 5;
      for (options.parts = 1; options.parts <= 4; ++options.parts) {
        for (const Shares& ends : SharesOf(batches_per_step)) {
          for (uint32_t host = 0; host < ends.size(); ++host) {
            SCOPED_TRACE(absl::StrCat(options.batches_per_epoch, " batches, W ",
                                      batches_per_step, ", parts ",
                                      options.parts, ", host ", host, " of ",
                                      absl::StrJoin(ends, ", ")));
            check(OfHost(options, ends, host), ends, host);
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(JobShapeTest, CountsStepsPlacesAndRecordsAsTheReference) {
  ForEachShape([](const SegmentOptions& options, const Shares& ends,
                  uint32_t host) {
    const JobShape shape(options);
    const std::vector<CountedTask> tasks = CountTasks(options, ends);
    EXPECT_EQ(shape.num_batches(), tasks.back().task.seq + 1);
    EXPECT_EQ(StepNumber(shape.num_steps()), tasks.back().step + 1);
    EXPECT_EQ(shape.steps_per_epoch() * 2, shape.num_steps());
    EXPECT_EQ(shape.num_records(), tasks.back().record + 1);
    std::map<StepNumber, BatchRange> of_step;
    std::map<uint64_t, BatchRange> of_epoch;
    std::map<uint64_t, StepRange> steps;
    for (const CountedTask& counted : tasks) {
      const auto [seq, part] = counted.task;
      const uint64_t epoch = counted.in_epoch.epoch;
      EXPECT_EQ(shape.PlaceInEpoch(seq), counted.in_epoch);
      EXPECT_EQ(shape.StepOf(seq), counted.step);
      EXPECT_EQ(shape.EpochOfStep(counted.step), epoch);
      EXPECT_EQ(shape.PlaceOf({seq, part}), counted.place);
      EXPECT_LT(counted.place, shape.num_places());
      EXPECT_EQ(shape.RecordOf({seq, part}), counted.record);
      EXPECT_EQ(shape.IsLocal(seq), counted.host == host);
      of_step.try_emplace(counted.step, BatchRange{seq, seq})
          .first->second.end = seq + 1;
      of_epoch.try_emplace(epoch, BatchRange{seq, seq}).first->second.end =
          seq + 1;
      steps.try_emplace(epoch, StepRange{counted.step, counted.step})
          .first->second.end = counted.step + 1;
    }
    for (const auto& [step, batches] : of_step) {
      EXPECT_EQ(shape.BatchesOfStep(step), batches) << "step " << step.value();
    }
    for (const auto& [epoch, batches] : of_epoch) {
      EXPECT_EQ(shape.BatchesOfEpoch(epoch), batches) << "epoch " << epoch;
      EXPECT_EQ(shape.StepsOfEpoch(epoch), steps[epoch]) << "epoch " << epoch;
    }
  });
}

TEST(JobShapeTest, NumbersThisHostsTasksWithoutGapsAndBack) {
  ForEachShape(
      [](const SegmentOptions& options, const Shares& ends, uint32_t host) {
        const JobShape shape(options);
        TaskNumber next;
        TaskSlot at;
        for (const CountedTask& counted : CountTasks(options, ends)) {
          if (counted.host != host) continue;
          EXPECT_EQ(shape.NumberOf(counted.task), next);
          EXPECT_EQ(shape.TaskOf(next), counted.task);
          EXPECT_EQ(shape.SlotOf(next), at);
          EXPECT_EQ(shape.TaskIn(at), next);
          if (options.parts == 1 && ends.size() == 1) {
            EXPECT_EQ(next.value(), counted.task.seq.value());
          }
          ++next;
          at = shape.Next(at);
          // As one reads it in the header.
          EXPECT_EQ(at.slot, next.value() % options.num_slots);
          EXPECT_EQ(at.generation, next.value() / options.num_slots);
        }
        EXPECT_EQ(shape.num_tasks(), next);
      });
}

TEST(JobShapeTest, FindsTheTasksOfAnyBatches) {
  ForEachShape(
      [](const SegmentOptions& options, const Shares& ends, uint32_t host) {
        const JobShape shape(options);
        const std::vector<CountedTask> tasks = CountTasks(options, ends);
        const auto below = [&](BatchSeq seq) {
          TaskNumber number;
          for (const CountedTask& counted : tasks) {
            if (counted.host == host && counted.task.seq < seq) ++number;
          }
          return number;
        };
        // Beyond the job too: there are no tasks there.
        for (BatchSeq begin(0); begin <= shape.num_batches() + 2; ++begin) {
          const BatchSeq end = begin + begin.value() % 4;
          EXPECT_EQ(shape.TasksOf({begin, end}),
                    (TaskRange{below(begin), below(end)}))
              << "from batch " << begin.value();
        }
        EXPECT_EQ(shape.TasksOf({BatchSeq(0), BatchSeq(UINT64_MAX)}),
                  (TaskRange{TaskNumber(), shape.num_tasks()}));
      });
}

// A host's segment in small: its slots and its copy of the board. What the
// queue and the board do with a shape, and nothing else of them.
class FakeHost {
 public:
  explicit FakeHost(const SegmentOptions& options)
      : shape_(options),
        parts_(static_cast<uint32_t>(options.parts)),
        staleness_(options.staleness),
        slots_(options.num_slots),
        board_(shape_.num_places()) {}

  // Samples into the lowest free slot; false: there is none.
  bool Sample() {
    const std::optional<TaskNumber> number =
        Lowest(/*is_ready=*/false, {TaskNumber(), shape_.num_tasks()});
    if (!number.has_value()) return false;
    slots_[shape_.SlotOf(*number).slot].is_ready = true;
    return true;
  }

  // Trains the lowest ready task of the steps that are open; nullopt: none.
  std::optional<BatchPart> Train() {
    if (is_over()) return std::nullopt;
    const StepRange epoch = shape_.StepsOfEpoch(shape_.EpochOfStep(next_));
    const StepNumber open_end = std::min(epoch.end, next_ + staleness_ + 1);
    const std::optional<TaskNumber> number =
        Lowest(/*is_ready=*/true,
               shape_.TasksOf({shape_.BatchesOfStep(next_).begin,
                               shape_.BatchesOfStep(open_end - 1).end}));
    if (!number.has_value()) return std::nullopt;
    Slot& slot = slots_[shape_.SlotOf(*number).slot];
    slot = {.generation = slot.generation + 1, .is_ready = false};
    return shape_.TaskOf(*number);
  }

  // A gradient of this host, or one that another has sent.
  void MarkDone(const BatchPart& task) {
    std::optional<BatchPart>& place = board_.at(shape_.PlaceOf(task));
    EXPECT_FALSE(place.has_value());  // Nobody else's is overwritten.
    place = task;
  }

  // Makes the next step if all gradients are there; returns its tasks.
  std::vector<BatchPart> Step() {
    std::vector<BatchPart> tasks;
    const BatchRange batches = shape_.BatchesOfStep(next_);
    uint32_t place = shape_.PlaceOf({batches.begin});
    for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
      for (uint32_t part = 0; part < parts_; ++part) {
        if (board_.at(place) != BatchPart{seq, part}) return {};
        tasks.push_back({seq, part});
        ++place;
      }
    }
    for (const BatchPart& task : tasks) {
      board_.at(shape_.PlaceOf(task)).reset();
    }
    ++next_;
    return tasks;
  }

  bool is_over() const { return next_ == StepNumber(shape_.num_steps()); }
  void ExpectEmpty() const {
    TaskSlot at = shape_.SlotOf(shape_.num_tasks());
    for (size_t i = 0; i < slots_.size(); ++i, at = shape_.Next(at)) {
      EXPECT_EQ(slots_[at.slot].generation, at.generation);
      EXPECT_FALSE(slots_[at.slot].is_ready);
    }
  }

 private:
  struct Slot {
    uint64_t generation = 0;
    bool is_ready = false;
  };

  std::optional<TaskNumber> Lowest(bool is_ready, const TaskRange& range) {
    for (TaskNumber number = range.begin; number < range.end; ++number) {
      const auto [slot, generation] = shape_.SlotOf(number);
      if (slots_[slot].generation == generation &&
          slots_[slot].is_ready == is_ready) {
        return number;
      }
    }
    return std::nullopt;
  }

  const JobShape shape_;
  const uint32_t parts_;
  const uint32_t staleness_;
  std::vector<Slot> slots_;
  std::vector<std::optional<BatchPart>> board_;
  StepNumber next_;
};

// Two parts and two hosts, one of which has the longer share: each part is
// trained once, by one host, and both hosts make the same steps.
TEST(JobShapeTest, PartsAndHostsWalkThroughSlotsAndPlaces) {
  SegmentOptions options;
  options.epochs = 2;
  options.batches_per_epoch = 10;  // Steps of 3, 3, 3 and 1 batches.
  options.batches_per_step = 3;
  options.staleness = 1;
  options.num_slots = 4;
  options.parts = 2;
  std::vector<FakeHost> hosts;
  for (const uint32_t host : {0u, 1u}) {
    hosts.emplace_back(OfHost(options, {1, 3}, host));
  }
  std::vector<std::vector<BatchPart>> steps;
  while (!hosts[0].is_over()) {
    bool is_stuck = true;
    for (FakeHost& host : hosts) {
      while (host.Sample()) is_stuck = false;
      while (const std::optional<BatchPart> task = host.Train()) {
        for (FakeHost& other : hosts) other.MarkDone(*task);
        is_stuck = false;
      }
    }
    std::vector<BatchPart> made = hosts[0].Step();
    EXPECT_EQ(hosts[1].Step(), made);
    ASSERT_FALSE(is_stuck && made.empty());
    if (!made.empty()) steps.push_back(std::move(made));
  }
  BatchPart next;
  for (const size_t batches : {3, 3, 3, 1, 3, 3, 3, 1}) {
    std::vector<BatchPart> step;
    for (size_t i = 0; i < 2 * batches; ++i) {
      step.push_back(next);
      next = next.part == 0 ? BatchPart{next.seq, 1} : BatchPart{next.seq + 1};
    }
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.front(), step);
    steps.erase(steps.begin());
  }
  EXPECT_TRUE(steps.empty());
  for (const FakeHost& host : hosts) host.ExpectEmpty();
}

}  // namespace
}  // namespace fgnn
