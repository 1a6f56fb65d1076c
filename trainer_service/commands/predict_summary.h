// What "fgnn-trainer predict" says about the predictions that it wrote.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_SUMMARY_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_SUMMARY_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer_service/infer/tables/class_table.h"
#include "trainer_service/infer/tables/target_table.h"

namespace fgnn {

struct PredictSummary {
  std::filesystem::path checkpoint;  // File of the checkpoint that was used.
  uint32_t epoch = 0;                // Epoch of the checkpoint.
  std::string what;
  std::filesystem::path out;
  uint64_t num_vertices = 0;  // Number of vertices that were predicted.
  uint64_t num_pairs = 0;     // Number of pairs that were scored.
  uint32_t num_classes = 0;
  uint32_t num_targets = 0;  // Number of numbers of each vertex.
  double seconds = 0;
  // Names of the model's classes in its numbering; empty: they have none.
  std::vector<std::string> class_names;
  // Names of the model's numbers; empty: they have none.
  std::vector<std::string> target_names;
  // What a user should know of the numbering of the classes, in one line;
  // empty: nothing.
  std::string notice;
  PredictionMatches matches;  // For classes: how many are right.
  // For numbers and sets: how well they fit.
  std::vector<TargetScores> target_scores;

  std::string ToJson() const;
  std::string ToText() const;  // One line or more.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_SUMMARY_H_
