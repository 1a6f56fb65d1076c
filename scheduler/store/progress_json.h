// A job's progress as JSON for the job store, without its executors.
#ifndef FGNN_SCHEDULER_STORE_PROGRESS_JSON_H_
#define FGNN_SCHEDULER_STORE_PROGRESS_JSON_H_

#include <string>

#include "nlohmann/json.hpp"
#include "scheduler/store/job.h"

namespace fgnn {

// Returns the scores that are known, by their keys.
nlohmann::ordered_json ScoresToJson(const Scores& scores);

std::string ProgressToJson(const JobProgress& progress);

// Reads the progress. Missing or damaged fields take their defaults: progress
// is only shown to users and is no reason to refuse a job.
JobProgress ProgressFromJson(const std::string& json);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_PROGRESS_JSON_H_
