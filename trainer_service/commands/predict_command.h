// "fgnn-trainer predict": inference with the model of a run.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace fgnn {

struct PredictOptions {
  std::filesystem::path run;         // The run's folder.
  std::filesystem::path checkpoint;  // Empty: the best of the run, or its last.
  std::filesystem::path dataset;     // Folder.
  std::string what = "classes";      // See PredictionKindOf().
  std::filesystem::path out;         // *.npy; of classes, *.csv too.
  std::string device;                // Empty: all cores.
  std::filesystem::path plugins;     // The folder of the user's libraries.
};

struct PredictSummary {
  std::filesystem::path checkpoint;  // The one that was used.
  uint32_t epoch = 0;                // The checkpoint's.
  std::string what;
  std::filesystem::path out;
  uint64_t num_vertices = 0;
  uint32_t num_classes = 0;
  double seconds = 0;

  std::string ToJson() const;
  std::string ToText() const;
};

// checkpoints/best.safetensors of the run, or else the newest epoch's.
// NotFound: the run has no checkpoint.
absl::StatusOr<std::filesystem::path> FindCheckpoint(
    const std::filesystem::path& run);

// Predicts `what` of every vertex and writes `out`. Pins the calling thread
// to the device.
absl::StatusOr<PredictSummary> RunPredict(const PredictOptions& options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_
