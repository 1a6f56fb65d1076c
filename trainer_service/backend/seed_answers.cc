#include "trainer_service/backend/seed_answers.h"

#include <new>

#include "absl/strings/str_cat.h"

namespace fgnn {

absl::Status SeedAnswers::Gather(const Dataset& dataset,
                                 const ModelOptions& model,
                                 const TaskView& task) {
  labels_.clear();
  if (model.objective == Objective::kClasses) {
    const absl::Span<const int64_t> labels = dataset.labels();
    for (const GlobalId seed : task.seeds()) labels_.push_back(labels[seed]);
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
    dataset.targets().Read(seed, row);
    row += columns;
  }
  return absl::OkStatus();
}

}  // namespace fgnn
