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

std::optional<uint64_t> EpochsOfCompleted(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto state = json.find("state");
  const auto epochs = json.find("epochs");
  if (state == json.end() || epochs == json.end() ||
      *state != NameOf(JobState::kCompleted) || !epochs->is_number_unsigned()) {
    return std::nullopt;
  }
  return epochs->get<uint64_t>();
}

}  // namespace fgnn
