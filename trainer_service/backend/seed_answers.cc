#include "trainer_service/backend/seed_answers.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {

absl::Status SeedAnswers::Gather(const Dataset& dataset,
                                 const ModelOptions& model,
                                 const TaskView& task) {
  labels_.clear();
  if (model.objective == Objective::kClasses) {
    for (const GlobalId seed : task.seeds()) {
      FGNN_ASSIGN_OR_RETURN(
          labels_.emplace_back(),
          ReadLabelOf(dataset.graph().places, dataset.labels(), seed,
                      model.num_classes));
    }
  }
  if (!model.has_targets()) return absl::OkStatus();
  const size_t columns = model.num_classes;
  try {
    targets_.resize(task.num_seeds * columns);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("out of memory for the targets of ", task.num_seeds,
                     " seeds, ", columns, " each; lower sampling.batch_size"));
  }
  float* row = targets_.data();
  for (const GlobalId seed : task.seeds()) {
    if (seed >= dataset.targets().rows) {
      return absl::InvalidArgumentError(absl::StrCat(
          "seed ", seed, " is none of ", dataset.targets().rows, " vertices"));
    }
    dataset.targets().Read(seed, row);
    row += columns;
  }
  return absl::OkStatus();
}

}  // namespace fgnn
