// What the seeds of a task are to be learned as.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_SEED_ANSWERS_H_
#define FGNN_TRAINER_SERVICE_BACKEND_SEED_ANSWERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/task.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Keeps its memory from task to task. Movable. Thread-compatible.
class SeedAnswers {
 public:
  // Takes the labels or targets of the task's seeds, global ids of `dataset`,
  // that a model of these options learns; none if it predicts links.
  // ResourceExhausted: there is no memory for them. InvalidArgument, naming
  // file and element: a label is none of the model's classes.
  absl::Status Gather(const Dataset& dataset, const ModelOptions& model,
                      const TaskView& task);

  // Lends them to a task for TrainerBackend::Gradient().
  void AddTo(TrainingBatch& task) const {
    task.labels = labels_;
    task.targets = targets_;
  }

 private:
  std::vector<int64_t> labels_;  // [num_seeds] or empty.
  std::vector<float> targets_;   // [num_seeds, C] or empty.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_SEED_ANSWERS_H_
