// The parts of each batch that are a trainer's own: its home parts.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_TRAINER_HOME_H_
#define FGNN_TRAINER_SERVICE_DAEMON_TRAINER_HOME_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "shared/config/job_spec.h"
#include "shared/queue/segment.h"
#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

// Where devices take turns, those that cache as trainers share the parts out,
// in the order of the devices: their plans may change from epoch to epoch.
// Others have the homes that they would have if all trained that may. Any
// thread.
class TrainerHome {
 public:
  // Borrows the segment. `device`: index of the trainer's device, or of the
  // trainer if devices take no turns.
  TrainerHome(Segment* segment, const JobSpec& spec, uint32_t device);

  // Returns the part that the trainer claims first; nullopt: batches are whole.
  std::optional<uint32_t> part() const;
  // Returns the parts whose features the trainer caches, if parts share inputs.
  // Where trainers are fewer than parts, each has several.
  HomeParts parts() const;

 private:
  // The trainer's number among `count` trainers.
  struct Place {
    uint32_t number = 0;
    uint32_t count = 1;
  };
  Place PlaceNow() const;

  Segment* segment_;
  uint32_t device_;
  uint32_t num_trainers_;
  std::vector<bool> may_train_;  // By device; empty: devices take no turns.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_TRAINER_HOME_H_
