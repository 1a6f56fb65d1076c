// A job's devices on a virtual clock: the seconds of epochs for given times of
// a batch. NextWork(), which the daemons call too, decides what a device does
// next. Pure: the same options give the same answer.
#ifndef FGNN_SCHEDULER_PLANNING_SIMULATOR_H_
#define FGNN_SCHEDULER_PLANNING_SIMULATOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "shared/measured/device_times.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

struct SimulatedDevice {
  DevicePlan plan = DevicePlan::kSample;  // A lost device does nothing.
  // Ts and Tt are above 0, and Tt may be 0 with kOnlySample; Tt' 0: as Tt.
  DeviceTimes times;
};

struct SimulationOptions {
  std::vector<SimulatedDevice> devices;  // Devices, 1 to kMostSimulatedDevices.
  uint64_t batches_per_epoch = 100;      // 1 or more, as the next three.
  uint32_t epochs = 3;
  uint32_t batches_per_step = 1;  // W
  uint32_t num_slots = 8;         // S: slots of the queue.
  uint32_t staleness = 0;         // s: steps opened beyond the next one.
  bool switching = true;          // Sampling devices have standby trainers.
  // Standard deviation of a batch's time over its mean, 0 to 10; log-normal. A
  // batch is drawn by its number, so that plans are compared on the same ones.
  double spread = 0;
  uint64_t seed = 1;
  // Seconds in which a device changes to the other work.
  double switch_seconds = 0;
  double step_seconds = 0;  // Seconds of a step once its gradients are there.
  bool keep_timeline = false;
};

inline constexpr uint32_t kMostSimulatedDevices = 64;

struct DeviceUse {
  double sample_seconds = 0;
  // Seconds of training and of the steps that it made.
  double train_seconds = 0;
  double switch_seconds = 0;
  uint64_t sampled = 0;  // Batches that it sampled.
  uint64_t trained = 0;
  uint64_t wakes = 0;  // Wakes of its standby trainer.
};

struct WorkInterval {
  uint32_t device = 0;
  DeviceWork work = DeviceWork::kNothing;
  BatchSeq seq;
  // Whether it makes a step, with the gradient of `seq` among others.
  bool makes_step = false;
  double begin_seconds = 0;  // Seconds since the job's start.
  double end_seconds = 0;
};

struct Simulation {
  // Seconds of each epoch, from its opening to its last commit. The first epoch
  // begins with an empty queue. During each epoch but the last, batches of the
  // next one are sampled too.
  std::vector<double> epoch_seconds;
  double total_seconds = 0;
  double mean_seconds =
      0;  // Mean of an epoch; its batches may be sampled in another.
  std::vector<DeviceUse> devices;
  std::vector<WorkInterval> timeline;  // Intervals by their ends.
};

// Simulates the job. InvalidArgument: an option is out of range, and the
// message names the field; or no device samples, or none trains by these plans.
// InvalidArgument also: there are more than ten million batches, or the virtual
// time exceeds 10^6 seconds. Internal: a batch is left that no device takes,
// which is a fault of NextWork().
absl::StatusOr<Simulation> Simulate(const SimulationOptions& options);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_SIMULATOR_H_
