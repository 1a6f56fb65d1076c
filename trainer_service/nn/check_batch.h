// The checks that every model makes of a batch before it reads it.
#ifndef FGNN_TRAINER_SERVICE_NN_CHECK_BATCH_H_
#define FGNN_TRAINER_SERVICE_NN_CHECK_BATCH_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// What the seeds of a batch are to be learned as: see TrainingBatch. Borrowed.
struct SeedAnswersView {
  absl::Span<const int64_t> labels;
  absl::Span<const float> targets;
};
// InvalidArgument: `answers` are not what a model of these options learns of
// `num_seeds` seeds, or a label is no class, or a target none of its task.
absl::Status CheckAnswers(const ModelOptions& options, BatchSeq seq,
                          size_t num_seeds, const SeedAnswersView& answers);

// Sizes of a batch and of what comes with it, wherever its arrays are.
struct BatchShape {
  BatchSeq seq;
  size_t weights = 0;
  size_t gradients = 0;
  size_t hops = 0;
  size_t seeds = 0;
  size_t pairs = 0;
};
// InvalidArgument: they are not those of a model of so many parameters.
absl::Status CheckShape(const ModelOptions& options, uint64_t num_parameters,
                        const BatchShape& shape);

// InvalidArgument with sizes: the number of hops, features, pairs, labels,
// targets, weights or gradient floats is not the model's, a label is no class,
// or a target is none of its task. A batch may have no seeds.
absl::Status CheckBatch(const Model& model, absl::Span<const float> weights,
                        const TrainingBatch& batch, absl::Span<float> gradient);

// The result of a batch without seeds: a gradient of zeros and a loss of 0.
BatchResult LearnNothing(absl::Span<float> gradient);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CHECK_BATCH_H_
