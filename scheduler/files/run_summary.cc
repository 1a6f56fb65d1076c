#include "scheduler/files/run_summary.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "shared/base/json_text.h"
#include "shared/measured/score_fields.h"

namespace fgnn {

std::string SummaryToJson(const RunSummary& summary) {
  nlohmann::ordered_json preparation = nlohmann::ordered_json::object();
  for (const auto& [phase, seconds] : summary.preparation) {
    preparation[phase] = seconds;
  }
  nlohmann::ordered_json json = {
      {"job_id", summary.job_id},
      {"state", std::string(NameOf(summary.state))},
      {"epochs", summary.epochs},
      {"stopped_early", OrNull(summary.stopped_early)},
      {"seconds", summary.seconds},
      {"preparation_seconds", preparation},
      {"batches_committed", summary.batches_committed},
      {"batches_expected", summary.batches_expected}};
  const SummaryScores& scores = summary.scores;
  const auto fields = ScoreFields(scores.objective);
  for (const ScoreField& field : fields) {
    if (!field.is_of_best) continue;
    json[absl::StrCat("valid_", field.key)] = OrNull(scores.valid.*field.score);
  }
  for (const ScoreField& field : fields) {
    json[absl::StrCat("test_", field.key)] = OrNull(scores.test.*field.score);
  }
  json.update(nlohmann::ordered_json{{"best_epoch", OrNull(scores.best_epoch)},
                                     {"switches", summary.switches},
                                     {"restarts", summary.restarts},
                                     {"peak_bytes", summary.peak_bytes},
                                     {"seed", summary.seed}});
  if (!summary.error.empty()) json["error"] = summary.error;
  if (!summary.warning.empty()) json["warning"] = summary.warning;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

std::optional<double> SecondsInSummary(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto seconds = json.find("seconds");
  if (seconds == json.end() || !seconds->is_number()) return std::nullopt;
  return seconds->get<double>();
}

std::optional<CompletedRun> ParseCompletedRun(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto is_number = [&](const std::string& key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number();
  };
  const auto is_count = [&](const std::string& key) {
    return is_number(key) && json[key].is_number_unsigned();
  };
  const auto state = json.find("state");
  const auto job_id = json.find("job_id");
  if (state == json.end() || *state != NameOf(JobState::kCompleted) ||
      job_id == json.end() || !job_id->is_string() || !is_count("epochs") ||
      !is_count("batches_committed")) {
    return std::nullopt;
  }
  CompletedRun run = {.job_id = *job_id,
                      .epochs = json["epochs"],
                      .batches_committed = json["batches_committed"]};
  if (is_count("best_epoch"))
    run.best_epoch = json["best_epoch"].get<uint32_t>();
  for (const ScoreField& field : AllScoreFields()) {
    const std::string key = absl::StrCat("test_", field.key);
    if (is_number(key)) run.test.*field.score = json[key].get<double>();
  }
  return run;
}

}  // namespace fgnn
