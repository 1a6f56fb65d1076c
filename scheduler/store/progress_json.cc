#include "scheduler/store/progress_json.h"

#include <optional>
#include <vector>

#include "shared/measured/score_fields.h"

namespace fgnn {
namespace {

template <typename T>
void Read(const nlohmann::json& json, const char* key, T& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number()) value = found->get<T>();
}

Scores ReadScores(const nlohmann::json& json, const char* key) {
  Scores scores;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return scores;
  for (const ScoreField& field : AllScoreFields()) {
    const auto score = found->find(field.key);
    if (score == found->end() || !score->is_number()) continue;
    scores.*field.score = score->get<double>();
  }
  return scores;
}

void ReadText(const nlohmann::json& json, const char* key, std::string& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_string()) {
    value = found->get<std::string>();
  }
}

std::vector<HostShare> ReadShares(const nlohmann::json& json) {
  std::vector<HostShare> shares;
  const auto found = json.find("shares");
  if (found == json.end() || !found->is_array()) return shares;
  for (const nlohmann::json& one : *found) {
    if (!one.is_object()) return {};
    HostShare& share = shares.emplace_back();
    ReadText(one, "host", share.name);
    Read(one, "trains", share.num_training);
    Read(one, "batches", share.num_places);
    Read(one, "batches_per_second", share.batches_per_second);
  }
  return shares;
}

nlohmann::json SharesToJson(const std::vector<HostShare>& shares) {
  nlohmann::json json = nlohmann::json::array();
  for (const HostShare& share : shares) {
    json.push_back({{"host", share.name},
                    {"trains", share.num_training},
                    {"batches", share.num_places},
                    {"batches_per_second", share.batches_per_second}});
  }
  return json;
}

}  // namespace

nlohmann::ordered_json ScoresToJson(const Scores& scores) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const ScoreField& field : AllScoreFields()) {
    const std::optional<double>& score = scores.*field.score;
    if (score.has_value()) json[field.key] = *score;
  }
  return json;
}

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
      {"valid", nlohmann::json(ScoresToJson(progress.valid))},
      {"test", nlohmann::json(ScoresToJson(progress.test))},
      {"restarts", progress.restarts},
      {"deaths_in_preparing", progress.deaths_in_preparing},
      {"dataset_content", progress.dataset_content},
      {"shares", SharesToJson(progress.shares)}};
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
  progress.valid = ReadScores(json, "valid");
  progress.test = ReadScores(json, "test");
  Read(json, "restarts", progress.restarts);
  Read(json, "deaths_in_preparing", progress.deaths_in_preparing);
  Read(json, "dataset_content", progress.dataset_content);
  progress.shares = ReadShares(json);
  return progress;
}

}  // namespace fgnn
