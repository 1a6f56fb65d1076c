// The times of a job's batches on each of its devices, kept for the next run of
// the same job. They are in a small file of the dataset's DerivedFiles.
#ifndef FGNN_SCHEDULER_TIMES_DEVICE_TIMES_H_
#define FGNN_SCHEDULER_TIMES_DEVICE_TIMES_H_

#include <filesystem>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/planning/allocation.h"
#include "scheduler/planning/job_plan.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"
#include "shared/graph/derived_files.h"

namespace fgnn {

struct MeasuredTimes {
  std::vector<DeviceTimes> devices;  // Seconds of each device; 0: not known.
  double spread = 0;                 // Spread, see AllocationInput.
  // Measured seconds that a change of the plan cost; 0: no change was made.
  double change_seconds = 0;
};

// Seconds of a batch on each kind of device; 0: not known.
struct TimesByKind {
  DeviceTimes cores = {};
  DeviceTimes gpus = {};

  DeviceTimes& On(DeviceKind kind) {
    return kind == DeviceKind::kCpu ? cores : gpus;
  }
  const DeviceTimes& On(DeviceKind kind) const {
    return kind == DeviceKind::kCpu ? cores : gpus;
  }
};

// Returns the times that the profiles of a job have.
TimesByKind ProfiledTimes(const PlanInput& input);

// Fills in Ts and Tt where they are not known, for each device of the job. They
// are those of the device's kind, which were measured on the first device of
// that kind. If threads follow the cores (`threads` is 0), a device with fewer
// cores takes longer in proportion.
void FillIn(const JobSpec& spec, const TimesByKind& profiled,
            MeasuredTimes* times);

// Returns the times of each device of the job. Times that are not known are the
// mean of those of the other devices of that kind. nullopt: Ts or Tt is not
// known for any device of a kind.
std::optional<std::vector<DeviceTimes>> CompleteTimes(
    const JobSpec& spec, const MeasuredTimes& times);

// The file of a job's times. Its name has a key of what the times depend on:
// model, sampling, cache, precision, threads and cores.
class DeviceTimesFile {
 public:
  DeviceTimesFile(const JobSpec& spec, const std::filesystem::path& state_dir);

  // Returns the times; nullopt: there is no file, or it cannot be read.
  std::optional<MeasuredTimes> Read() const;
  absl::Status Write(const MeasuredTimes& times) const;

 private:
  const std::vector<std::string> devices_;
  const DerivedFiles files_;
  const std::string name_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_TIMES_DEVICE_TIMES_H_
