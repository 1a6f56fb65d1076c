// What a job's segment is made for.
#ifndef FGNN_SHARED_QUEUE_SEGMENT_OPTIONS_H_
#define FGNN_SHARED_QUEUE_SEGMENT_OPTIONS_H_

#include <cstdint>

namespace fgnn {

inline constexpr uint32_t kMostDevices = 64;  // That take turns.

// What a segment is made for. Fixed for the job's life.
struct SegmentOptions {
  uint64_t job_key = 0;              // Hash of the job's id.
  uint32_t num_slots = 0;            // [1, 4096].
  uint64_t slot_bytes = 0;           // Measured tasks x 1.25.
  uint32_t num_overflow_blocks = 0;  // One per sampler.
  uint64_t overflow_bytes = 0;       // The hard bound of a task.
  uint64_t batches_per_epoch = 0;    // >= 1.
  uint64_t epochs = 0;               // >= 1.
  uint32_t batches_per_step = 1;     // W, [1, 1024].
  uint32_t staleness = 0;            // s, [0, 1024]; see gradient_board.h.
  uint64_t num_parameters = 0;       // Floats of all weights, P.
  // Floats of optimizer state per weight: 2 for Adam.
  uint32_t optimizer_floats_per_parameter = 2;
  // Steps that were committed before: 0 for a new job, else the version of the
  // checkpoint that it goes on from. [0, steps of the job].
  uint64_t first_version = 0;
  // The first CachePlan.
  uint64_t rank_order_key = 0;
  uint64_t cache_rows = 0;
  uint64_t standby_cache_rows = 0;
  // Devices that take turns, [0, 64]; see device_table.h. 0: whoever is
  // attached works.
  uint32_t num_devices = 0;
  uint32_t switching = 0;  // Not 0: their standby trainers may wake.
  // Of those, how many have memory to be planned to sample, and to train.
  uint32_t most_samplers = kMostDevices;
  uint32_t most_trainers = kMostDevices;

  bool plans_caches() const { return cache_rows > 0 || standby_cache_rows > 0; }
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_SEGMENT_OPTIONS_H_
