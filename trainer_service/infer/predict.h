// Predictions for vertices of a graph.
#ifndef FGNN_TRAINER_SERVICE_INFER_PREDICT_H_
#define FGNN_TRAINER_SERVICE_INFER_PREDICT_H_

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/infer/files/row_file.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Kinds of predictions.
enum class PredictionKind : uint8_t {
  // Classes and, in text, their probabilities; of sets, the probabilities.
  kClasses,
  // Probabilities of every class: f32 [n, C], rows that sum to 1. Of sets, each
  // probability is that of one class.
  kProbabilities,
  kEmbeddings,  // Embeddings, see InferEmbeddings(): f32 [n, hidden].
  kScores,      // Scores of pairs: ScorePairs().
  kNeighbours,  // Others that score highest: FindNewNeighbors().
  kValues,      // Numbers: f32 [n, C].
};

// Returns the kind of "classes", "probabilities", "embeddings", "scores",
// "neighbours" or "values"; InvalidArgument for other words.
absl::StatusOr<PredictionKind> PredictionKindOf(std::string_view word);
// Returns the word of a kind.
const char* WordOf(PredictionKind kind);
// Returns what a model predicts if nothing else is asked for: values for
// numbers, else classes.
PredictionKind UsualKind(const ModelOptions& model);

// Vectors of [n, num_best], for n vertices.
struct Predictions {
  uint32_t num_best = 1;  // K, number of classes of each vertex.
  // The model's classes of the largest logits, falling; of equal ones the first
  // comes first.
  std::vector<int64_t> classes;
  std::vector<float> probabilities;  // Probabilities of these classes.
};

// Returns all vertices of a graph, in order.
std::vector<GlobalId> AllVertices(uint64_t num_nodes);

// Predicts the `num_best` best classes of `vertices`, in [1, C]. Errors: those
// of InferLogits().
absl::StatusOr<Predictions> Predict(const InferenceInput& input,
                                    absl::Span<const GlobalId> vertices,
                                    uint32_t num_best = 1);

// Infers a row of each of the n vertices, its embedding, values or
// probabilities, and writes the rows as they come. Only a chunk of them is in
// memory. RowFile::Commit() makes the file `path`, a .npy file. Errors: those
// of InferLogits(), InferEmbeddings() and the file system.
absl::StatusOr<RowFile> PredictRows(const InferenceInput& input,
                                    absl::Span<const GlobalId> vertices,
                                    PredictionKind kind,
                                    const std::filesystem::path& path);

// Returns true for the kinds that only a model that predicts links has.
bool IsOfLinks(PredictionKind kind);

// InvalidArgument, with the way out: the model was trained for something else.
absl::Status CheckPrediction(const ModelOptions& model, PredictionKind kind);

// InvalidArgument unless this kind can be written to such a name. Call it
// before the work is done.
absl::Status CheckPredictionsPath(const std::filesystem::path& path,
                                  PredictionKind kind);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_PREDICT_H_
