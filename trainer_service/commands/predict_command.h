// "fgnn-trainer predict": inference with the model of a run.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer_service/infer/class_table.h"

namespace fgnn {

struct PredictOptions {
  std::filesystem::path run;  // Folder of the run.
  // File of the checkpoint. Empty: see FindCheckpoint().
  std::filesystem::path checkpoint;
  std::filesystem::path dataset;  // Folder of the dataset.
  std::string what = "classes";   // Kind of prediction: PredictionKindOf().
  // File *.npy; for classes, scores and neighbours also *.csv.
  std::filesystem::path out;
  // Number of the best classes or neighbours of each vertex; nullopt: one class
  // or ten neighbours.
  std::optional<uint32_t> top_k;
  // File with ids of the vertices: ReadIdFile(). Empty: all vertices.
  std::filesystem::path vertices;
  // For scores: the file with pairs of ids, ReadIdFile().
  std::filesystem::path pairs;
  std::string device;             // Cores such as "cpu:0-3". Empty: all cores.
  std::filesystem::path plugins;  // The folder of the user's libraries.
};

struct PredictSummary {
  std::filesystem::path checkpoint;  // File of the checkpoint that was used.
  uint32_t epoch = 0;                // Epoch of the checkpoint.
  std::string what;
  std::filesystem::path out;
  uint64_t num_vertices = 0;  // Number of vertices that were predicted.
  uint64_t num_pairs = 0;     // Number of pairs that were scored.
  uint32_t num_classes = 0;
  double seconds = 0;
  // Names of the model's classes in its numbering; empty: they have none.
  std::vector<std::string> class_names;
  // What a user should know of the numbering of the classes, in one line;
  // empty: nothing.
  std::string notice;
  PredictionMatches matches;  // For classes: how many are right.

  std::string ToJson() const;
  std::string ToText() const;  // One line or more.
};

// Returns checkpoints/best.safetensors of the run, or else the checkpoint of
// the newest epoch. Returns NotFound if the run has no checkpoint.
absl::StatusOr<std::filesystem::path> FindCheckpoint(
    const std::filesystem::path& run);

// Predicts `what` of the vertices and writes `out`. Pins the calling thread to
// the device. Classes are numbered as in the dataset (MapClasses()), but
// columns of probabilities as in the model. Names that the checkpoint does not
// have are read from the run's folder, if they are there.
absl::StatusOr<PredictSummary> RunPredict(const PredictOptions& options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_
