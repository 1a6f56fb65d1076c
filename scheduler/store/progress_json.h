// A job's progress as the job store keeps it, without its executors.
#ifndef FGNN_SCHEDULER_STORE_PROGRESS_JSON_H_
#define FGNN_SCHEDULER_STORE_PROGRESS_JSON_H_

#include <string>

#include "scheduler/store/job.h"

namespace fgnn {

std::string ProgressToJson(const JobProgress& progress);

// What is missing or damaged takes its default: progress is for people to look
// at, and no reason to refuse a job.
JobProgress ProgressFromJson(const std::string& json);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_PROGRESS_JSON_H_
