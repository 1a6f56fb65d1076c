// The role slice of a device to train, for the device's trainer.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_TRAINING_SLICE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_TRAINING_SLICE_H_

#include <cstdint>
#include <optional>

#include "shared/base/clock.h"
#include "shared/base/types.h"
#include "shared/queue/device_table.h"
#include "shared/queue/segment.h"
#include "trainer_service/daemon/ahead_choice.h"

namespace fgnn {

// One thread at a time.
class TrainingSlice {
 public:
  // Borrows the segment, which has this device.
  TrainingSlice(Segment* segment, OwnerIndex owner, uint32_t device);
  ~TrainingSlice() { End(); }
  TrainingSlice(const TrainingSlice&) = delete;
  TrainingSlice& operator=(const TrainingSlice&) = delete;

  bool held() const { return held_; }
  // Takes a slice if NextWork() says that the device trains, and no daemon has
  // the device's slice. Returns true if it took one.
  bool Take();
  // Whether the device continues to train. The trainer asks before each fetch
  // of a slice that it holds. A device that is planned to train keeps its
  // slice, and the batches that it extracted ahead.
  bool GoesOn();
  // Returns how far the trainer may work ahead during this slice.
  AheadLimit ahead() const;
  // Notes that the next batch is there, with its features.
  void Fetched();
  // Notes that a batch took `seconds` of this device.
  void Trained(double seconds);
  // Ends the slice. Does nothing if none is held.
  void End();

 private:
  DeviceTable table_;
  const uint32_t device_;
  bool held_ = false;
  bool is_fresh_ = false;  // Whether the trainer has not fetched in this slice.
  bool trained_ = false;   // Whether this slice has trained a batch.
  // Seconds since the look of a wake; nullopt once the first batch is fetched.
  std::optional<Stopwatch> since_wake_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_TRAINING_SLICE_H_
