// Predictions for every vertex of a graph, and the files they are written to.
#ifndef FGNN_TRAINER_SERVICE_INFER_PREDICT_H_
#define FGNN_TRAINER_SERVICE_INFER_PREDICT_H_

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// What is written of every vertex.
enum class PredictionKind : uint8_t {
  kClasses,        // And their probabilities, in text.
  kProbabilities,  // Of every class: f32 [N, C], rows that sum to 1.
  kEmbeddings,     // See InferEmbeddings(): f32 [N, hidden].
};

// "classes", "probabilities" or "embeddings"; InvalidArgument otherwise.
absl::StatusOr<PredictionKind> PredictionKindOf(std::string_view word);

// [N] each.
struct Predictions {
  std::vector<int64_t> classes;      // The first of the largest logits.
  std::vector<float> probabilities;  // Of that class.
};

// Of all vertices. Errors of InferLogits().
absl::StatusOr<Predictions> Predict(const InferenceInput& input);

// Replaces `path`: "*.npy" by the classes, i64 [N]; "*.csv" by lines
// "id,name,class,probability" with a heading, names empty where the dataset has
// none. Errors of the file system.
absl::Status WritePredictions(const std::filesystem::path& path,
                              const Predictions& predictions,
                              const Dataset& dataset);

// Infers a row of every vertex, its probabilities or its embedding, and writes
// them as they come: no more than a chunk of them is in memory. Replaces
// `path`, a .npy file. Errors of InferLogits(), InferEmbeddings() and of the
// file system.
absl::Status PredictRows(const InferenceInput& input, PredictionKind kind,
                         const std::filesystem::path& path);

// InvalidArgument, with the way out: the model predicts links and has no
// classes.
absl::Status CheckPrediction(const ModelOptions& model, PredictionKind kind);

// InvalidArgument unless what is predicted can be written to such a name: to be
// asked before the work is done.
absl::Status CheckPredictionsPath(const std::filesystem::path& path,
                                  PredictionKind kind);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_PREDICT_H_
