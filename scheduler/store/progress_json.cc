#include "scheduler/store/progress_json.h"

#include <limits>
#include <optional>

#include "nlohmann/json.hpp"

namespace fgnn {
namespace {

// Values of scores that are not known, and of those of link prediction.
constexpr double kNoScore = -1;
constexpr double kNoRank = 0;
constexpr double kBelowAll = -std::numeric_limits<double>::infinity();

// A score of targets, which is left out while it is not known.
struct TargetScore {
  const char* key;
  Scores JobProgress::*scores;
  std::optional<double> Scores::*score;
};
constexpr TargetScore kTargetScores[] = {
    {"valid_rmse", &JobProgress::valid, &Scores::rmse},
    {"test_rmse", &JobProgress::test, &Scores::rmse},
    {"test_mae", &JobProgress::test, &Scores::mae},
    {"test_r2", &JobProgress::test, &Scores::r2},
    {"valid_micro_f1", &JobProgress::valid, &Scores::micro_f1},
    {"test_micro_f1", &JobProgress::test, &Scores::micro_f1}};

template <typename T>
void Read(const nlohmann::json& json, const char* key, T& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number()) value = found->get<T>();
}

// Reads a score that is `unknown` if it is not known.
void ReadScore(const nlohmann::json& json, const char* key, double unknown,
               std::optional<double>& score) {
  double value = unknown;
  Read(json, key, value);
  if (value > unknown) score = value;
}

void ReadText(const nlohmann::json& json, const char* key, std::string& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_string()) {
    value = found->get<std::string>();
  }
}

}  // namespace

std::string ProgressToJson(const JobProgress& progress) {
  nlohmann::json json = {
      {"phase", progress.phase},
      {"warning", progress.warning},
      {"checkpoint_warning", progress.checkpoint_warning},
      {"epochs", progress.epochs},
      {"epochs_done", progress.epochs_done},
      {"batches_per_epoch", progress.batches_per_epoch},
      {"batches_committed", progress.batches_committed},
      {"batches_expected", progress.batches_expected},
      {"loss", progress.loss},
      {"valid_accuracy", progress.valid.accuracy.value_or(kNoScore)},
      {"test_accuracy", progress.test.accuracy.value_or(kNoScore)},
      {"test_macro_f1", progress.test.macro_f1.value_or(kNoScore)},
      {"test_roc_auc", progress.test.roc_auc.value_or(kNoScore)},
      {"valid_mrr", progress.valid.mrr.value_or(kNoRank)},
      {"test_mrr", progress.test.mrr.value_or(kNoRank)},
      {"test_mean_rank", progress.test.mean_rank.value_or(kNoRank)},
      {"restarts", progress.restarts},
      {"deaths_in_preparing", progress.deaths_in_preparing},
      {"dataset_content", progress.dataset_content}};
  for (const auto& [key, scores, score] : kTargetScores) {
    if (const auto& value = (progress.*scores).*score; value.has_value()) {
      json[key] = *value;
    }
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

JobProgress ProgressFromJson(const std::string& text) {
  JobProgress progress;
  const auto json = nlohmann::json::parse(text, nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return progress;
  ReadText(json, "phase", progress.phase);
  ReadText(json, "warning", progress.warning);
  ReadText(json, "checkpoint_warning", progress.checkpoint_warning);
  Read(json, "epochs", progress.epochs);
  Read(json, "epochs_done", progress.epochs_done);
  Read(json, "batches_per_epoch", progress.batches_per_epoch);
  Read(json, "batches_committed", progress.batches_committed);
  Read(json, "batches_expected", progress.batches_expected);
  Read(json, "loss", progress.loss);
  ReadScore(json, "valid_accuracy", kNoScore, progress.valid.accuracy);
  ReadScore(json, "test_accuracy", kNoScore, progress.test.accuracy);
  ReadScore(json, "test_macro_f1", kNoScore, progress.test.macro_f1);
  ReadScore(json, "test_roc_auc", kNoScore, progress.test.roc_auc);
  ReadScore(json, "valid_mrr", kNoRank, progress.valid.mrr);
  ReadScore(json, "test_mrr", kNoRank, progress.test.mrr);
  ReadScore(json, "test_mean_rank", kNoRank, progress.test.mean_rank);
  for (const auto& [key, scores, score] : kTargetScores) {
    ReadScore(json, key, kBelowAll, (progress.*scores).*score);
  }
  Read(json, "restarts", progress.restarts);
  Read(json, "deaths_in_preparing", progress.deaths_in_preparing);
  Read(json, "dataset_content", progress.dataset_content);
  return progress;
}

}  // namespace fgnn
