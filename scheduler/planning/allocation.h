// How many devices of a job are planned to sample (FGNN, section 5.3): all
// numbers are tried in the simulator. Pure functions.
#ifndef FGNN_SCHEDULER_PLANNING_ALLOCATION_H_
#define FGNN_SCHEDULER_PLANNING_ALLOCATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/planning/simulator.h"
#include "shared/config/job_spec.h"
#include "shared/queue/segment.h"
#include "shared/switching/switch_policy.h"

namespace fgnn {

struct AllocationInput {
  std::vector<DeviceTimes> devices;  // Times of 1 to 64 devices.
  // Whether each device only samples, whatever is planned for the others;
  // empty: none does.
  std::vector<bool> only_sample;
  uint64_t batches_per_epoch = 0;  // Batches of an epoch, 1 or more.
  // W; 0: as many as devices train or may train.
  uint32_t batches_per_step = 0;
  uint32_t num_slots = 8;  // S: slots of the queue, 1 or more.
  uint32_t staleness = 0;  // s: steps opened beyond the next one.
  bool switching = true;   // Sampling devices have standby trainers.
  double spread = 0;    // Standard deviation of a batch's time over its mean.
  uint32_t epochs = 0;  // Simulated epochs, whose mean counts; 0: enough.
  uint64_t seed = 1;    // Seed of the spread.
  // Seconds in which a device changes to the other work.
  double switch_seconds = 0;
  double step_seconds = 0;  // Seconds of a step once its gradients are there.
  // Fixed number of samplers, whatever memory allows: 1, or the devices that
  // only sample, to the number of devices, less one without switching. nullopt:
  // not fixed.
  std::optional<uint32_t> samplers;
  // Most devices for which memory allows to sample, and to be planned as
  // trainers; nullopt: all devices.
  std::optional<uint32_t> most_samplers;
  std::optional<uint32_t> most_trainers;
};

struct AllocationCandidate {
  uint32_t num_samplers = 0;
  double epoch_seconds = 0;
};

struct Allocation {
  std::vector<DevicePlan> plans;  // Plans of the devices, in their order.
  uint32_t num_samplers = 0;
  double epoch_seconds = 0;  // Predicted seconds of an epoch.
  // Number of samplers by the paper's formula with the means over the devices
  // that do the work, and the seconds of its epoch. 0 seconds: memory or
  // `switching` forbids that number.
  uint32_t paper_samplers = 0;
  double paper_epoch_seconds = 0;
  std::vector<AllocationCandidate> candidates;  // All numbers that were tried.
};

// Returns the input by a job and its segment; the caller fills in `devices`.
AllocationInput AllocationInputOf(const JobSpec& spec,
                                  const SegmentOptions& segment);

// Returns ceil(Ng / (K + 1)) with K = Tt / Ts. `ts` and `tt` are above 0.
uint32_t PaperSamplers(double ts, double tt, uint32_t devices);

// Returns the plans with the shortest epoch; epochs within a thousandth of it
// are equal, and the fewest samplers are taken. The devices that only sample do
// so, then those with the least Ts / Tt, then the first ones. InvalidArgument:
// an input is out of range; the message names the field. FailedPrecondition:
// memory allows no number.
absl::StatusOr<Allocation> Allocate(const AllocationInput& input);

// Returns the plans in which `num_samplers` devices sample, as Allocate()
// chooses them. Those that only sample are among them.
std::vector<DevicePlan> PlansFor(const AllocationInput& input,
                                 uint32_t num_samplers);

// Returns the options that simulate given plans, one per device: all batches of
// an epoch, without the timeline.
SimulationOptions SimulationOf(const AllocationInput& input,
                               const std::vector<DevicePlan>& plans);

// Returns the predicted seconds of an epoch with given plans, one per device,
// by which plans are compared. InvalidArgument: an input is out of range (the
// message names the field), no device samples, or no device trains.
absl::StatusOr<double> PredictEpochSeconds(
    const AllocationInput& input, const std::vector<DevicePlan>& plans);

struct ReplanInput {
  // Predicted seconds with the plan in force.
  double current_epoch_seconds = 0;
  // Predicted seconds with the other plan, from the same times.
  double best_epoch_seconds = 0;
  uint64_t epochs_left = 0;
  // Measured cost of a change of the plan, in seconds.
  double change_seconds = 0;
};

// Returns whether a change pays: the rest of the job gains more than the change
// costs, and an epoch gets shorter by a twentieth or more.
bool ShouldReplan(const ReplanInput& input);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_ALLOCATION_H_
