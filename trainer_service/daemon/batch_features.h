// The features of a batch's input nodes, as the model takes them for its task:
// copied, or where they lie.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_BATCH_FEATURES_H_
#define FGNN_TRAINER_SERVICE_DAEMON_BATCH_FEATURES_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/daemon/workplace.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

struct BatchFeatures {
  absl::Span<float> dense;  // [num_input_nodes, F] or empty.
  StoredRows stored;        // [num_input_nodes] or empty.
  uint64_t num_cache_hits = 0;
  std::shared_ptr<const LoadedCache> cached;  // That `stored` points into.
  AlignedBuffer memory;  // Of `dense`, or of the places of the rows.
};

// Bytes of memory that they take.
uint64_t FeatureBytes(const Workplace& workplace, const TaskView& task);

// Extracts or finds them, with `team`, into the memory that is there. Errors of
// the feature store. std::bad_alloc.
absl::Status ExtractFeatures(const Workplace& workplace, const TaskView& task,
                             ThreadTeam& team, BatchFeatures* features);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_BATCH_FEATURES_H_
