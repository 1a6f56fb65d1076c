// How many devices of a job are planned to sample (FGNN, section 5.3), found by
// trying all numbers in the simulator. Pure functions.
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
  std::vector<DeviceCost> devices;  // 1 to 64.
  uint64_t batches_per_epoch = 0;   // At least 1.
  uint32_t batches_per_step = 0;    // W; 0: as many as devices train.
  uint32_t num_slots = 8;           // S, of the queue; at least 1.
  uint32_t staleness = 0;           // s: steps opened beyond the next one.
  bool switching = true;            // Sampling devices have standby trainers.
  double spread = 0;    // Standard deviation of a batch's time over its mean.
  uint32_t epochs = 0;  // Simulated, their mean counts. 0: enough of them.
  uint64_t seed = 1;    // Of the spread.
  double switch_seconds = 0;  // Of a device that takes up the other work.
  double step_seconds = 0;    // Of a step, once its gradients are there.
  // Fixes the number, 1 to that of the devices (less one without switching),
  // whatever memory allows.
  std::optional<uint32_t> samplers;
  // Devices that have memory to sample, and to be planned as trainers.
  // Nothing: all of them.
  std::optional<uint32_t> most_samplers;
  std::optional<uint32_t> most_trainers;
};

struct AllocationCandidate {
  uint32_t num_samplers = 0;
  double epoch_seconds = 0;
};

struct Allocation {
  std::vector<DevicePlan> plans;  // As the devices.
  uint32_t num_samplers = 0;
  double epoch_seconds = 0;  // Predicted.
  // What the paper's formula says of the means over the devices, and the epoch
  // with it; 0 seconds where memory or `switching` forbid that number.
  uint32_t paper_samplers = 0;
  double paper_epoch_seconds = 0;
  std::vector<AllocationCandidate> candidates;  // All that were tried.
};

// What a job and its segment say of it; `devices` are to be filled in.
AllocationInput AllocationInputOf(const JobSpec& spec,
                                  const SegmentOptions& segment);

// ceil(Ng / (K + 1)), K = Tt / Ts. Both above 0.
uint32_t PaperSamplers(double ts, double tt, uint32_t devices);

// The number of samplers with the shortest epoch, the fewest of those within
// a thousandth of it. Those devices sample that are best at it: of the least
// Ts / Tt, then the first ones.
// InvalidArgument: names the field. FailedPrecondition: memory allows no
// number.
absl::StatusOr<Allocation> Allocate(const AllocationInput& input);

// The plans with `num_samplers` devices that sample, as Allocate() chooses
// them.
std::vector<DevicePlan> PlansFor(const std::vector<DeviceCost>& devices,
                                 uint32_t num_samplers);

// What simulates given plans, one per device: all but the timeline. Of the
// batches of an epoch, all.
SimulationOptions SimulationOf(const AllocationInput& input,
                               const std::vector<DevicePlan>& plans);

// The epoch of given plans, one per device: what a plan is compared by.
// InvalidArgument: names the field; nobody samples, or nobody trains.
absl::StatusOr<double> PredictEpochSeconds(
    const AllocationInput& input, const std::vector<DevicePlan>& plans);

struct ReplanInput {
  double current_epoch_seconds = 0;  // Of the plan as it is, predicted.
  double best_epoch_seconds = 0;     // Of the other one, from the same times.
  uint64_t epochs_left = 0;
  double change_seconds = 0;  // What changing the plan was measured to cost.
};

// Hysteresis: what the rest of the job gains exceeds the cost of the change,
// and an epoch gets shorter by a twentieth or more.
bool ShouldReplan(const ReplanInput& input);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_ALLOCATION_H_
