// Scores of jobs, for people.
#ifndef FGNN_TOOLS_FGNN_REPORTS_SCORE_TEXT_H_
#define FGNN_TOOLS_FGNN_REPORTS_SCORE_TEXT_H_

#include <optional>
#include <string>

#include "fgnn/v1/job_service.pb.h"
#include "shared/config/objective.h"
#include "shared/measured/score_fields.h"

namespace fgnn {

// Returns "76.52 %"; "-" for a negative share.
std::string FormatShare(double share);
// Returns an MRR, an F1 or R2: "0.7652".
std::string FormatScore(double score);
// Returns an RMSE or MAE, five digits of it: "0.76521", "1234.6".
std::string FormatError(double error);

// Returns a score as its field is read: "76.52 %", "0.7652", "3.12".
std::string FormatScore(const ScoreField& field, double score);

// Returns what the job predicts; the default for a task of a later release.
Objective ObjectiveOfJob(const v1::Job& job);

// Returns a score by which epochs of the objective are compared: an accuracy as
// a share, an RMSE as an error. "-": it is not known.
std::string FormatCompared(Objective objective, std::optional<double> score);

// Return the score by which epochs are compared, of the last validation and of
// the test; nullopt: it is not known.
std::optional<double> ValidScoreOf(const v1::Job& job);
std::optional<double> TestScoreOf(const v1::Job& job);

// Returns the test scores of a finished job, a line each, or "" before that.
// The compared score comes first. Names are as wide as in JobText().
std::string TestScoresText(const v1::Job& job);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_SCORE_TEXT_H_
