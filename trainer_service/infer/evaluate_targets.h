// Scores of a model that predicts targets, on splits of a dataset.
#ifndef FGNN_TRAINER_SERVICE_INFER_EVALUATE_TARGETS_H_
#define FGNN_TRAINER_SERVICE_INFER_EVALUATE_TARGETS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/target_view.h"
#include "shared/measured/scores.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Returns one score per split, without its name, all from one inference. Only
// for a model that has_targets(); it has a column for each one of the targets.
// splits have global ids. A split without vertices has no scores. Any number of
// threads gives the same bits, and the processes of a shared inference all
// return the same. InvalidArgument: a vertex lacks a target.
// ResourceExhausted: there is no memory of TargetScoreBytes(). Other errors:
// those of InferLogits().
absl::StatusOr<std::vector<SplitScore>> EvaluateTargets(
    const InferenceInput& input, const TargetView& targets,
    const std::vector<absl::Span<const int64_t>>& splits);

// Returns the bytes that EvaluateTargets() takes beside InferenceBytes() for
// one split of so many vertices. Processes share them.
uint64_t TargetScoreBytes(const ModelOptions& options, uint64_t num_vertices);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_EVALUATE_TARGETS_H_
