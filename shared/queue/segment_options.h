// The options of a job's segment.
#ifndef FGNN_SHARED_QUEUE_SEGMENT_OPTIONS_H_
#define FGNN_SHARED_QUEUE_SEGMENT_OPTIONS_H_

#include <cstdint>

#include "shared/minibatch/task.h"

namespace fgnn {

// The most devices of a job that may take turns.
inline constexpr uint32_t kMostDevices = 64;

// The options of a segment. They are fixed for the job's life. The segment's
// header holds them as they are here, so there is no room between the fields.
struct SegmentOptions {
  uint64_t job_key = 0;            // Hash of the job's id.
  uint64_t slot_bytes = 0;         // Bytes of measured tasks x 1.25.
  uint64_t overflow_bytes = 0;     // Hard bound of a task's bytes.
  uint64_t batches_per_epoch = 0;  // Number of batches B, >= 1.
  uint64_t epochs = 0;             // Number of epochs, >= 1.
  uint64_t parts = 1;              // Number of parts P of a batch, [1, 16].
  // Number of messages that a part of a batch publishes, [0, 256], and bytes of
  // one batch's place for them; see NumMessages(). Both are 0 without parts.
  uint64_t num_messages = 0;
  uint64_t message_bytes = 0;
  // Key of the partition book by which batches are split into parts; 0: they
  // are whole.
  uint64_t book = 0;
  // Number of hosts of the job, [1, 64]. Each has a segment of its own.
  uint64_t num_hosts = 1;
  // Numbers of places of each step that other hosts have, before and after the
  // places whose batches this segment holds. Their sum is in [0, W].
  uint64_t places_before = 0;
  uint64_t places_after = 0;
  uint64_t num_parameters = 0;  // Number of floats of all weights.
  // Number of steps that were committed before, [0, steps of the job]. 0 for a
  // new job, else the version of the checkpoint from which the job resumes.
  uint64_t first_version = 0;
  // Fields of the first CachePlan.
  uint64_t rank_order_key = 0;
  uint64_t cache_rows = 0;
  uint64_t standby_cache_rows = 0;
  // Bytes of a row of the table that all trainers share, below 2^32; 0: each
  // trainer has a table of its own.
  uint64_t shared_row_bytes = 0;
  // Number of slots S, [1, 4096]. With several parts, a multiple of P, of at
  // least 2 P.
  uint32_t num_slots = 0;
  uint32_t num_overflow_blocks = 0;  // Number of blocks: P per sampler.
  uint32_t batches_per_step = 1;     // Number of batches W, [1, 1024].
  uint32_t staleness = 0;  // Bound s, [0, 1024]; see gradient_board.h.
  // Number of floats of optimizer state per weight: 2 for Adam.
  uint32_t optimizer_floats_per_parameter = 2;
  // Number of devices that take turns, [0, 64]; see device_table.h. 0: no
  // device takes turns, and every attached daemon works.
  uint32_t num_devices = 0;
  uint32_t switching = 0;  // Not 0: the devices' standby trainers may wake.
  // Numbers of these devices with the memory to be planned to sample, and to
  // train.
  uint32_t most_samplers = kMostDevices;
  uint32_t most_trainers = kMostDevices;
  // Not 0: samplers of GPUs read the topology in the host's memory.
  uint32_t topology_on_host = 0;
  // Number of trainers that exchange gradients as a group, [0, 64]; see
  // meeting_table.h. 0: the board alone exchanges gradients.
  uint32_t num_members = 0;
  // Not 0: a trainer that evaluates alone has room in its GPU's memory for the
  // hidden states of all vertices.
  uint32_t hidden_on_gpu = 0;

  // Number of places of a step whose batches this segment holds.
  uint64_t own_places() const {
    return batches_per_step - places_before - places_after;
  }
  // Whether the parts of a batch send each other rows of features: each loads
  // those of its own vertices alone. Hidden layers have two messages each.
  bool shares_inputs() const { return num_messages % 2 == 1; }
  bool shares_table() const { return shared_row_bytes > 0; }
  bool plans_caches() const { return cache_rows > 0 || standby_cache_rows > 0; }
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_SEGMENT_OPTIONS_H_
