// A job's devices on a virtual clock: what epochs take for given times of a
// batch. What a device does next is decided by NextWork(), which the daemons
// call too. Pure: the same options give the same answer.
#ifndef FGNN_SCHEDULER_PLANNING_SIMULATOR_H_
#define FGNN_SCHEDULER_PLANNING_SIMULATOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

// Seconds of a batch on one device. Extraction is in `train` and `standby` as
// far as the trainer's pipeline does not hide it.
struct DeviceCost {
  double sample = 0;   // Ts, above 0.
  double train = 0;    // Tt, above 0.
  double standby = 0;  // Tt', of its standby trainer. 0: as `train`.
};

struct SimulatedDevice {
  DevicePlan plan = DevicePlan::kSample;  // One that is lost does nothing.
  DeviceCost cost;
};

struct SimulationOptions {
  std::vector<SimulatedDevice> devices;  // 1 to kMostSimulatedDevices.
  uint64_t batches_per_epoch = 100;      // At least 1, as the next three.
  uint32_t epochs = 3;
  uint32_t batches_per_step = 1;  // W
  uint32_t num_slots = 8;         // S, of the queue.
  uint32_t staleness = 0;         // s: steps opened beyond the next one.
  bool switching = true;          // Sampling devices have standby trainers.
  // Standard deviation of a batch's time over its mean, 0 to 10; log-normal. A
  // batch is drawn by its number, so that plans are compared on the same ones.
  double spread = 0;
  uint64_t seed = 1;
  double switch_seconds = 0;  // Of a device that takes up the other work.
  double step_seconds = 0;    // Of a step, once its gradients are there.
  bool keep_timeline = false;
};

inline constexpr uint32_t kMostSimulatedDevices = 64;

struct DeviceUse {
  double sample_seconds = 0;
  double train_seconds = 0;  // With the steps that it made.
  double switch_seconds = 0;
  uint64_t sampled = 0;  // Batches.
  uint64_t trained = 0;
  uint64_t wakes = 0;  // Of its standby trainer.
};

struct WorkInterval {
  uint32_t device = 0;
  DeviceWork work = DeviceWork::kNothing;
  BatchSeq seq = 0;
  bool makes_step = false;   // With that batch's gradient, for one.
  double begin_seconds = 0;  // Since the job's start.
  double end_seconds = 0;
};

struct Simulation {
  // From an epoch's opening to its last commit. The first one begins with an
  // empty queue; each, but for the last, has the next one's batches sampled
  // meanwhile.
  std::vector<double> epoch_seconds;
  double total_seconds = 0;
  double mean_seconds =
      0;  // Of an epoch. One may have been sampled in another.
  std::vector<DeviceUse> devices;
  std::vector<WorkInterval> timeline;  // In the order of their ends.
};

// InvalidArgument: names the field; nobody samples or nobody trains by these
// plans; more than ten million batches, or a virtual time beyond 10^6 seconds.
// Internal: a batch is left that no device takes, which is a fault of
// NextWork().
absl::StatusOr<Simulation> Simulate(const SimulationOptions& options);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_SIMULATOR_H_
