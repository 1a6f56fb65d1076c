// "fgnn-trainer predict": inference with the model of a run.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "trainer_service/commands/predict_summary.h"
#include "trainer_service/infer/inference_device.h"

namespace fgnn {

struct PredictOptions {
  std::filesystem::path run;  // Folder of the run.
  // File of the checkpoint. Empty: see FindCheckpoint().
  std::filesystem::path checkpoint;
  std::filesystem::path dataset;  // Folder of the dataset.
  // Kind of prediction: PredictionKindOf(). Empty: UsualKind() of the model.
  std::string what;
  // File *.npy; for classes, values, scores and neighbours also *.csv.
  std::filesystem::path out;
  // Number of the best classes or neighbours of each vertex; nullopt: one class
  // or ten neighbours.
  std::optional<uint32_t> top_k;
  // File with ids or names of the vertices: ReadIdFile(). Empty: all vertices.
  std::filesystem::path vertices;
  // For scores: the file with pairs of ids or names, ReadIdFile().
  std::filesystem::path pairs;
  // Cores such as "cpu:0-3", or a GPU such as "cuda:0". Empty: all cores.
  std::string device;
  std::filesystem::path plugins;      // The folder of the user's libraries.
  InferenceDeviceOpener open_device;  // Opens the GPU.
};

// Returns checkpoints/best.safetensors of the run, or else the checkpoint of
// the newest epoch. Returns NotFound if the run has no checkpoint.
absl::StatusOr<std::filesystem::path> FindCheckpoint(
    const std::filesystem::path& run);

// Predicts `what` of the vertices and writes `out`. Pins the calling thread to
// the device's cores. Classes are numbered as in the dataset (MapClasses()),
// but columns of probabilities and numbers as in the model. Names that the
// checkpoint does not have are read from the run's folder, if they are there.
absl::StatusOr<PredictSummary> RunPredict(const PredictOptions& options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_COMMAND_H_
