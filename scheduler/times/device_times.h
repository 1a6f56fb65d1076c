// What a job's batches took on each of its devices, kept for the next run of
// the same job: a small file in the dataset's derived/, or, where that cannot
// be written, in the state folder.
#ifndef FGNN_SCHEDULER_TIMES_DEVICE_TIMES_H_
#define FGNN_SCHEDULER_TIMES_DEVICE_TIMES_H_

#include <filesystem>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/planning/allocation.h"
#include "shared/config/job_spec.h"

namespace fgnn {

struct MeasuredTimes {
  std::vector<DeviceCost> devices;  // 0: not known.
  double spread = 0;                // See AllocationInput.
  // That a change of the plan was measured to cost; 0: none has been made.
  double change_seconds = 0;
};

// Fills in what is not known, of a device for each of the job: by what a batch
// was measured to take on the first of them, as much longer as others have
// fewer cores.
void FillIn(const JobSpec& spec, double sample_seconds, double train_seconds,
            MeasuredTimes* times);

// One per device; where nothing is known of it, the mean of the others.
// nullopt: Ts or Tt is not known of any.
std::optional<std::vector<DeviceCost>> CostsOf(const MeasuredTimes& times);

// Under a key of what the times depend on: model, sampling, cache, precision,
// threads and cores.
class DeviceTimesFile {
 public:
  DeviceTimesFile(const JobSpec& spec, const std::filesystem::path& state_dir);

  // nullopt: nothing is known, or what is there cannot be read.
  std::optional<MeasuredTimes> Read() const;
  absl::Status Write(const MeasuredTimes& times) const;

 private:
  const std::vector<std::string> devices_;
  const std::filesystem::path with_dataset_;
  const std::filesystem::path with_state_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_TIMES_DEVICE_TIMES_H_
