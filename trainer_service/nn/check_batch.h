// The checks that every model makes of a batch before it reads it.
#ifndef FGNN_TRAINER_SERVICE_NN_CHECK_BATCH_H_
#define FGNN_TRAINER_SERVICE_NN_CHECK_BATCH_H_

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

// InvalidArgument with sizes: the number of hops, features, pairs, labels,
// targets, weights or gradient floats is not the model's, a label is no class,
// or a target is none of its task. A batch may have no seeds.
absl::Status CheckBatch(const Model& model, absl::Span<const float> weights,
                        const TrainingBatch& batch, absl::Span<float> gradient);

// The result of a batch without seeds: a gradient of zeros and a loss of 0.
BatchResult LearnNothing(absl::Span<float> gradient);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CHECK_BATCH_H_
