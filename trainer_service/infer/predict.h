// Predictions for every vertex of a graph, and the files they are written to.
#ifndef FGNN_TRAINER_SERVICE_INFER_PREDICT_H_
#define FGNN_TRAINER_SERVICE_INFER_PREDICT_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// [N] each.
struct Predictions {
  std::vector<int64_t> classes;      // The first of the largest logits.
  std::vector<float> probabilities;  // Of that class.
};

// Of all vertices. Errors of InferLogits().
absl::StatusOr<Predictions> Predict(const InferenceInput& input);

// Replaces `path`: "*.npy" by the classes, i64 [N]; "*.csv" by lines
// "id,name,class,probability" with a heading, names empty where the dataset has
// none. InvalidArgument: another ending; else errors of the file system.
absl::Status WritePredictions(const std::filesystem::path& path,
                              const Predictions& predictions,
                              const Dataset& dataset);

// InvalidArgument unless WritePredictions() could write to such a name: to be
// asked before the work is done.
absl::Status CheckPredictionsPath(const std::filesystem::path& path);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_PREDICT_H_
