// Scores of a model on splits of a dataset.
#ifndef FGNN_TRAINER_SERVICE_INFER_EVALUATE_H_
#define FGNN_TRAINER_SERVICE_INFER_EVALUATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

struct SplitAccuracy {
  uint64_t num_vertices = 0;
  uint64_t num_correct = 0;
  double loss = 0;      // Mean cross-entropy; 0 for an empty split.
  double macro_f1 = 0;  // See MacroF1(); 0 for an empty split.
  // See RocAuc(); only for a model of two classes.
  std::optional<double> roc_auc;
};

// Returns one score per split, all from one inference. labels [N]; splits have
// global ids. The processes of a shared inference all return the same.
// InvalidArgument: a vertex has no label that the model knows. Other errors:
// those of InferLogits().
absl::StatusOr<std::vector<SplitAccuracy>> Evaluate(
    const InferenceInput& input, absl::Span<const int64_t> labels,
    const std::vector<absl::Span<const int64_t>>& splits);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_EVALUATE_H_
