// Chooses what a device that has one role at a time does next (FGNN, section
// 5.3, "Dynamic executor switching"). The functions are pure and take a
// snapshot. The daemons and the simulator call the same ones.
#ifndef FGNN_SHARED_SWITCHING_SWITCH_POLICY_H_
#define FGNN_SHARED_SWITCHING_SWITCH_POLICY_H_

#include <cstdint>

namespace fgnn {

enum class DeviceWork : uint8_t { kNothing = 0, kSample = 1, kTrain = 2 };

// Role that the plan gives a device.
enum class DevicePlan : uint8_t {
  // Samples; trains, as a standby trainer, in the time that is left.
  kSample = 0,
  kTrain = 1,
  kTimeShare = 2,   // Samples a batch and trains a batch, in turn.
  kLost = 3,        // Does nothing: the job goes on without the device.
  kOnlySample = 4,  // Samples, and has no trainer: cores beside a GPU.
};

// State of the job that a device sees before each fetch. Where batches have
// parts, it counts and times parts as it does whole batches elsewhere.
struct SwitchSnapshot {
  DevicePlan plan = DevicePlan::kSample;
  bool switching = true;  // Whether the device's standby trainer may work.
  DeviceWork last = DeviceWork::kNothing;  // Last work of the device.

  uint32_t num_slots = 0;  // Slots of the queue, S.
  // Batches that a sampler could claim now: batches of opened epochs, in free
  // slots.
  uint32_t free_batches = 0;
  uint32_t queued_batches = 0;  // Ready tasks.
  // Queued batches that a trainer could take now: those of open steps. Of
  // parts, only those whose batch has no part that is still to be sampled.
  uint32_t trainable_batches = 0;
  // Free batches of open steps: trainers wait for them.
  uint32_t missing_batches = 0;
  // Mr: number of the epoch's batches that no trainer has taken.
  uint64_t batches_left = 0;

  // Nt: number of devices that are planned to train.
  uint32_t num_trainers = 0;
  // Tt: mean seconds of a batch on those devices; 0: not known.
  double train_seconds = 0;
  // Tt': seconds of a batch on this device; 0: as Tt.
  double standby_seconds = 0;
};

// Returns true if a device that is planned to sample should sample before it
// trains.
bool IsSamplingDue(const SwitchSnapshot& snapshot);

// Returns P = Mr * Tt / Nt - Tt': seconds by which the epoch ends earlier if
// this device trains a batch. Infinite if no other device would train (Nt = 0).
double SwitchProfit(const SwitchSnapshot& snapshot);

// Returns the next work. kNothing: ask again when the queue or the board has
// changed.
DeviceWork NextWork(const SwitchSnapshot& snapshot);

}  // namespace fgnn

#endif  // FGNN_SHARED_SWITCHING_SWITCH_POLICY_H_
