// The turn of a device to train, as its trainer sees it.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_DEVICE_TURN_H_
#define FGNN_TRAINER_SERVICE_DAEMON_DEVICE_TURN_H_

#include <cstdint>
#include <optional>

#include "shared/base/clock.h"
#include "shared/base/types.h"
#include "shared/queue/device_table.h"
#include "shared/queue/segment.h"
#include "trainer_service/daemon/batch_source.h"

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
  // Takes the turn if NextWork() has the device train and nobody works on it.
  bool Take();
  // Before each fetch of a turn that is held: whether the device trains on. One
  // that is planned to train keeps its turn, and what it has worked ahead.
  bool GoesOn();
  // How far its trainer may work ahead meanwhile.
  AheadLimit ahead() const;
  // The next batch is there, with its features.
  void Fetched();
  // A batch took so many seconds of this device.
  void Trained(double seconds);
  // Nothing happens if it is not held.
  void End();

 private:
  DeviceTable table_;
  const uint32_t device_;
  bool held_ = false;
  bool is_fresh_ = false;  // Nothing has been fetched since it was taken.
  bool trained_ = false;   // A batch, in this turn.
  std::optional<Stopwatch> since_wake_;  // Until the first batch is fetched.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_DEVICE_TURN_H_
