// Predictions for every vertex of a graph, and the files that they are written
// to.
#ifndef FGNN_TRAINER_SERVICE_INFER_PREDICT_H_
#define FGNN_TRAINER_SERVICE_INFER_PREDICT_H_

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "trainer_service/infer/class_map.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Kinds of predictions for every vertex.
enum class PredictionKind : uint8_t {
  kClasses,  // Classes and, in text, their probabilities.
  // Probabilities of every class: f32 [N, C], rows that sum to 1.
  kProbabilities,
  kEmbeddings,  // Embeddings, see InferEmbeddings(): f32 [N, hidden].
};

// Returns the kind of "classes", "probabilities" or "embeddings";
// InvalidArgument for other words.
absl::StatusOr<PredictionKind> PredictionKindOf(std::string_view word);

// Vectors of [N] each.
struct Predictions {
  // The model's class of the largest logit; of equal ones the first.
  std::vector<int64_t> classes;
  std::vector<float> probabilities;  // Probability of that class.
};

// Predicts all vertices. Errors: those of InferLogits().
absl::StatusOr<Predictions> Predict(const InferenceInput& input);

// Replaces `path`. "*.npy" gets the numbers that `map` gives the classes, i64
// [N]. "*.csv" gets a heading and lines
// "id,name,class,probability,class_name"; names that are not known are empty.
// Errors: those of the file system.
absl::Status WritePredictions(const std::filesystem::path& path,
                              const Predictions& predictions,
                              const ClassMap& map, const Dataset& dataset);

// Infers a row of every vertex, its probabilities or its embedding, and writes
// the rows as they come. Only a chunk of them is in memory. Replaces `path`, a
// .npy file. Errors: those of InferLogits(), InferEmbeddings() and the file
// system.
absl::Status PredictRows(const InferenceInput& input, PredictionKind kind,
                         const std::filesystem::path& path);

// InvalidArgument, with the way out: the model predicts links and has no
// classes.
absl::Status CheckPrediction(const ModelOptions& model, PredictionKind kind);

// InvalidArgument unless this kind can be written to such a name. Call it
// before the work is done.
absl::Status CheckPredictionsPath(const std::filesystem::path& path,
                                  PredictionKind kind);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_PREDICT_H_
