// Scores of a model on splits of a dataset.
#ifndef FGNN_TRAINER_SERVICE_INFER_EVALUATE_H_
#define FGNN_TRAINER_SERVICE_INFER_EVALUATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/measured/scores.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Returns one score per split, without its name, all from one inference. Only
// for a model that learns classes. labels [N]; splits have global ids. Loss and
// scores of an empty split are 0. The processes of a shared inference all
// return the same. InvalidArgument: a vertex has no label that the model knows.
// Other errors: those of InferLogits().
absl::StatusOr<std::vector<SplitScore>> Evaluate(
    const InferenceInput& input, absl::Span<const int64_t> labels,
    const std::vector<absl::Span<const int64_t>>& splits);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_EVALUATE_H_
