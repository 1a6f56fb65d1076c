// Plans what the devices of a job that takes turns do. It plans before the
// first epoch, by measured times, and again after each epoch. It also plans at
// once if a device is lost or comes back.
#ifndef FGNN_SCHEDULER_RUN_DEVICE_PLANNER_H_
#define FGNN_SCHEDULER_RUN_DEVICE_PLANNER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/executors/executor_view.h"
#include "scheduler/executors/job_segment.h"
#include "scheduler/figures/epoch_sum.h"
#include "scheduler/planning/allocation.h"
#include "scheduler/times/device_times.h"
#include "shared/base/clock.h"
#include "shared/config/job_spec.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

// For a job whose devices take no turns, no function does anything. Not
// thread-safe: for the job's thread.
class DevicePlanner {
 public:
  DevicePlanner(std::string job_id, const JobSpec& spec,
                const std::filesystem::path& state_dir);

  // Sets Ts and Tt of all devices from those of their kind, which were measured
  // before there is a segment. FillIn() derives those of each device. Times of
  // an earlier run of the job are preferred.
  void SetProfile(const TimesByKind& profiled);
  // Plans for an open segment, before any epoch in it is opened. Borrows the
  // segment.
  void Begin(JobSegment* segment);
  // Goes on with a segment and the plans in it. Borrows the segment.
  void TakeOver(JobSegment* segment);

  void Add(const BatchRecord& record);  // Adds a task of the open epoch.
  // Fills in the plans with which the epoch begins.
  void BeginEpoch(EpochFacts* facts);
  // Fills in the times and counts of the epoch, and keeps the times with the
  // dataset.
  void EndEpoch(EpochFacts* facts);
  // Makes another plan if that pays. To be called after EndEpoch().
  void Replan(uint64_t epochs_left);
  // Makes another plan, whatever it costs, if the plan in force was made for
  // other devices than the job has now. May be called at any time.
  void ReplanIfDevicesChanged();

  // Returns how often a standby trainer woke in the epochs that ended. May be
  // called also once the segment is gone.
  uint32_t switches() const { return switches_; }
  std::vector<DeviceView> Views() const;

 private:
  // Statistics of the seconds of a batch.
  struct Moments {
    uint64_t count = 0;
    double sum = 0;
    double squares = 0;
    void Add(double seconds);
    double mean() const;
    double deviation() const;
  };
  struct Done {
    Moments sample, train;  // Seconds of the open epoch's batches.
    // Input nodes of the open epoch's trained batches.
    uint64_t input_nodes = 0;
    uint64_t cache_hits = 0;
    uint64_t sampled = 0;  // Batches since Begin() or TakeOver().
    uint64_t trained = 0;
    double busy_seconds = 0;
  };

  JobDevices& devices() const { return segment_->devices(); }
  // Numbers of the devices that are not lost. A device may be lost or come back
  // at any moment, so a plan is made from one such list.
  using Left = std::vector<uint32_t>;
  Left LookWhoIsLeft() const;
  // Returns the input for a plan of these devices; nullopt: nothing was
  // measured.
  std::optional<AllocationInput> InputOf(const Left& left) const;
  std::vector<DevicePlan> FirstPlans() const;
  // Returns whether there is something to plan for these devices.
  bool IsPlanned(const Left& left) const;
  bool DevicesChanged() const;
  void LookAtTimes();  // Takes the measured times into times_.
  void LookAtChange(double epoch_seconds);
  uint64_t Wakes() const;

  const std::string job_id_;
  const JobSpec spec_;
  const DeviceTimesFile file_;
  MeasuredTimes times_;
  // Costs of the devices when the segment was made; empty: not known.
  std::vector<DeviceTimes> first_;
  JobSegment* segment_ = nullptr;  // nullptr: the devices take no turns.
  std::vector<Done> done_;
  uint64_t wakes_before_ = 0;  // Number of wakes when the epoch was opened.
  uint32_t switches_ = 0;
  // Changes of devices that the plan in force knows.
  uint64_t changes_seen_ = 0;
  Stopwatch since_begin_;
  double epoch_seconds_ = 0;  // Seconds of the last epoch.
  // Seconds that the open epoch was expected to take by a new plan; 0: the plan
  // is not new.
  double expected_seconds_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_DEVICE_PLANNER_H_
