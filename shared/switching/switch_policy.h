// What a device that has one role at a time does next (FGNN, section 5.3,
// "Dynamic executor switching"). Pure functions of a snapshot: the daemons and
// the simulator call the same ones.
#ifndef FGNN_SHARED_SWITCHING_SWITCH_POLICY_H_
#define FGNN_SHARED_SWITCHING_SWITCH_POLICY_H_

#include <cstdint>

namespace fgnn {

enum class DeviceWork : uint8_t { kNothing = 0, kSample = 1, kTrain = 2 };

// What the plan has a device do.
enum class DevicePlan : uint8_t {
  kSample = 0,  // It trains, as a standby trainer, in what time is left.
  kTrain = 1,
  kTimeShare = 2,  // Samples a batch, trains a batch, in turn.
  kLost = 3,       // Nothing: the job goes on without it.
};

// What a device sees of its job before each fetch.
struct SwitchSnapshot {
  DevicePlan plan = DevicePlan::kSample;
  bool switching = true;                   // Its standby trainer may wake.
  DeviceWork last = DeviceWork::kNothing;  // What the device did last.

  uint32_t num_slots = 0;  // Of the queue, S.
  // Batches that a sampler could claim now: of opened epochs, in free slots.
  uint32_t free_batches = 0;
  uint32_t queued_batches = 0;  // Ready tasks.
  // Those of them that a trainer could take now: of open steps.
  uint32_t trainable_batches = 0;
  // Free ones of open steps: trainers wait for them.
  uint32_t missing_batches = 0;
  // Mr: batches of the epoch that no trainer has taken.
  uint64_t batches_left = 0;

  uint32_t num_trainers = 0;   // Nt: devices that are planned to train.
  double train_seconds = 0;    // Tt: of a batch, mean over those. 0: not known.
  double standby_seconds = 0;  // Tt': of a batch, here. 0: as Tt.
};

// Whether a device that is planned to sample is to, before it trains.
bool IsSamplingDue(const SwitchSnapshot& snapshot);

// P = Mr * Tt / Nt - Tt', seconds that the epoch ends earlier if this device
// trains a batch; infinite where nobody else would (Nt = 0).
double SwitchProfit(const SwitchSnapshot& snapshot);

// kNothing: look again when the queue or the board has changed.
DeviceWork NextWork(const SwitchSnapshot& snapshot);

}  // namespace fgnn

#endif  // FGNN_SHARED_SWITCHING_SWITCH_POLICY_H_
