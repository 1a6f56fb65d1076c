// What the devices of a job that takes turns are planned to do: measured,
// planned before the first epoch, and looked at again after each, and at once
// where one is lost or comes back.
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

// Of a job whose executors are together, every function does nothing. Not
// thread-safe: for the job's thread.
class DevicePlanner {
 public:
  DevicePlanner(std::string job_id, const JobSpec& spec,
                const std::filesystem::path& state_dir);

  // Ts and Tt of the first device, measured before there is a segment: of all,
  // by their cores. An earlier run of the job is believed more.
  void SetProfile(double sample_seconds, double train_seconds);
  // Plans for a segment that is open, before anything in it is. Borrows it.
  void Begin(JobSegment* segment);
  // Goes on with a segment and the plans in it. Borrows it.
  void TakeOver(JobSegment* segment);

  void Add(const BatchRecord& record);  // Of the epoch that is open.
  // What the epoch is planned as.
  void BeginEpoch(EpochFacts* facts);
  // How it went. Keeps the times with the dataset.
  void EndEpoch(EpochFacts* facts);
  // After EndEpoch(): another plan, where that pays.
  void Replan(uint64_t epochs_left);
  // At any time: another plan, whatever it costs, where the one in force was
  // made for other devices than the job has by now.
  void ReplanIfDevicesChanged();

  // Times that a standby trainer woke, in the epochs that ended. Also once the
  // segment is gone.
  uint32_t switches() const { return switches_; }
  std::vector<DeviceView> Views() const;

 private:
  // Of seconds a batch.
  struct Moments {
    uint64_t count = 0;
    double sum = 0;
    double squares = 0;
    void Add(double seconds);
    double mean() const;
    double deviation() const;
  };
  struct Done {
    Moments sample, train;     // Stages of the open epoch's batches.
    uint64_t input_nodes = 0;  // Of those that were trained.
    uint64_t cache_hits = 0;
    uint64_t sampled = 0;  // Since Begin().
    uint64_t trained = 0;
    double busy_seconds = 0;
  };

  JobDevices& devices() const { return segment_->devices(); }
  // Another one may be lost, or back, a moment later: what follows from one
  // look at who is left is of those.
  using Left = std::vector<uint32_t>;
  Left LookWhoIsLeft() const;
  // nullopt: nothing was measured.
  std::optional<AllocationInput> InputOf(const Left& left) const;
  std::vector<DevicePlan> FirstPlans() const;
  bool IsPlanned(const Left& left) const;  // There is something to plan.
  bool DevicesChanged() const;
  void LookAtTimes();  // What was measured into times_.
  void LookAtChange(double epoch_seconds);
  uint64_t Wakes() const;

  const std::string job_id_;
  const JobSpec spec_;
  const DeviceTimesFile file_;
  MeasuredTimes times_;
  std::vector<DeviceCost> first_;  // When the segment was made.
  JobSegment* segment_ = nullptr;  // None: no turns are taken.
  std::vector<Done> done_;
  uint64_t wakes_before_ = 0;  // When the epoch was opened.
  uint32_t switches_ = 0;
  uint64_t changes_seen_ = 0;  // Of devices, by the plan in force.
  Stopwatch since_begin_;
  double epoch_seconds_ = 0;  // Of the last epoch.
  // What the open epoch's new plan was expected to take; 0: it is an old one.
  double expected_seconds_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_DEVICE_PLANNER_H_
