#include "trainer_service/commands/predict_summary.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

// Returns "98.3 % (118 of 120)".
std::string TextOf(const MatchCount& count) {
  return absl::StrFormat("%.1f %% (%s of %s)", count.share() * 100,
                         FormatCount(count.matching),
                         FormatCount(count.labelled));
}

// Returns "0.51234 (MAE 0.40123, 118 vertices)", or "0.9134 (118 vertices)".
std::string TextOf(const TargetScores& of_split) {
  const Scores& scores = of_split.scores;
  const std::string vertices = FormatCount(of_split.vertices);
  return scores.rmse.has_value()
             ? absl::StrFormat("%.5g (MAE %.5g, %s vertices)", *scores.rmse,
                               scores.mae.value_or(0), vertices)
             : absl::StrFormat("%.4f (%s vertices)",
                               scores.micro_f1.value_or(0), vertices);
}

// Returns "train A, valid B, no split C".
template <typename OfSplit, typename Text>
std::string TextOfSplits(const std::vector<OfSplit>& splits, Text text_of) {
  std::string text;
  for (const OfSplit& of_split : splits) {
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    of_split.split.empty() ? "no split" : of_split.split, " ",
                    text_of(of_split));
  }
  return text;
}

nlohmann::json ToJson(const MatchCount& count) {
  return {{"labelled", count.labelled},
          {"matching", count.matching},
          {"accuracy", count.share()}};
}

nlohmann::json ToJson(const TargetScores& of_split) {
  nlohmann::json entry = {{"labelled", of_split.vertices}};
  const Scores& scores = of_split.scores;
  if (scores.rmse.has_value()) entry["rmse"] = *scores.rmse;
  if (scores.mae.has_value()) entry["mae"] = *scores.mae;
  if (scores.micro_f1.has_value()) entry["micro_f1"] = *scores.micro_f1;
  return entry;
}

}  // namespace

std::string PredictSummary::ToJson() const {
  nlohmann::json json = {{"checkpoint", checkpoint.string()},
                         {"epoch", epoch},
                         {"what", what},
                         {"out", out.string()},
                         {"vertices", num_vertices},
                         {"pairs", num_pairs},
                         {"classes", num_classes},
                         {"class_names", class_names},
                         {"targets", num_targets},
                         {"target_names", target_names},
                         {"notice", notice},
                         {"seconds", seconds}};
  json["splits"] = nlohmann::json::array();
  const auto add = [&](const std::string& split, nlohmann::json entry) {
    entry["split"] = split;
    json["splits"].push_back(std::move(entry));
  };
  for (const PredictionMatches::OfSplit& of_split : matches.splits) {
    add(of_split.split, fgnn::ToJson(of_split.count));
  }
  for (const TargetScores& of_split : target_scores) {
    add(of_split.split, fgnn::ToJson(of_split));
  }
  if (matches.names.has_value()) json["names"] = fgnn::ToJson(*matches.names);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string PredictSummary::ToText() const {
  std::string text = absl::StrCat(
      "predicted ", what, " of ",
      num_pairs > 0 ? absl::StrCat(FormatCount(num_pairs), " pairs")
                    : absl::StrCat(FormatCount(num_vertices), " vertices"),
      " in ", FormatSeconds(seconds), " with ", checkpoint.string(), " (epoch ",
      epoch, "); they are in ", out.string());
  if (!matches.splits.empty()) {
    absl::StrAppend(
        &text, "\naccuracy: ",
        TextOfSplits(matches.splits,
                     [](const PredictionMatches::OfSplit& of_split) {
                       return TextOf(of_split.count);
                     }));
  }
  if (!target_scores.empty()) {
    absl::StrAppend(
        &text,
        target_scores.front().scores.rmse.has_value() ? "\nRMSE: "
                                                      : "\nmicro-F1: ",
        TextOfSplits(target_scores, [](const TargetScores& of_split) {
          return TextOf(of_split);
        }));
  }
  if (matches.names.has_value()) {
    absl::StrAppend(
        &text, "\nclass_name is the label's name: ", TextOf(*matches.names));
  }
  return text;
}

}  // namespace fgnn
