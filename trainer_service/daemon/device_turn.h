// The turn of a device to train, for the device's trainer.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_DEVICE_TURN_H_
#define FGNN_TRAINER_SERVICE_DAEMON_DEVICE_TURN_H_

#include <cstdint>
#include <optional>

#include "shared/base/clock.h"
#include "shared/base/types.h"
#include "shared/queue/device_table.h"
#include "shared/queue/segment.h"
#include "trainer_service/daemon/ahead_choice.h"

namespace fgnn {

// One thread at a time.
class DeviceTurn {
 public:
  // Borrows the segment, which has this device.
  DeviceTurn(Segment* segment, OwnerIndex owner, uint32_t device);
  ~DeviceTurn() { End(); }
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

  bool held() const { return held_; }
  // Takes the turn if NextWork() says that the device trains, and no daemon has
  // the device's turn. Returns true if it took the turn.
  bool Take();
  // Whether the device continues to train. The trainer asks before each fetch
  // of a turn that it holds. A device that is planned to train keeps its turn,
  // and the batches that it extracted ahead.
  bool GoesOn();
  // Returns how far the trainer may work ahead during this turn.
  AheadLimit ahead() const;
  // Notes that the next batch is there, with its features.
  void Fetched();
  // Notes that a batch took `seconds` of this device.
  void Trained(double seconds);
  // Ends the turn. Does nothing if the turn is not held.
  void End();

 private:
  DeviceTable table_;
  const uint32_t device_;
  bool held_ = false;
  bool is_fresh_ = false;  // Whether the trainer has not fetched in this turn.
  bool trained_ = false;   // Whether this turn has trained a batch.
  // Seconds since the look of a wake; nullopt once the first batch is fetched.
  std::optional<Stopwatch> since_wake_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_DEVICE_TURN_H_
