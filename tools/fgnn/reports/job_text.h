// Jobs and services in the words that people read.
#ifndef FGNN_TOOLS_FGNN_REPORTS_JOB_TEXT_H_
#define FGNN_TOOLS_FGNN_REPORTS_JOB_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"

namespace fgnn {

// "running".
std::string StateName(v1::JobState state);
// InvalidArgument: no state has this name; the message has those there are.
absl::StatusOr<v1::JobState> ParseStateName(const std::string& name);

// Completed, failed or cancelled.
bool HasEnded(v1::JobState state);

// OK for a completed job; of a failed one its own code and one line; Cancelled
// for a cancelled one; FailedPrecondition for one that has not ended.
absl::Status StatusOfJob(const v1::Job& job);

// Seconds it has had devices, over all its starts; 0 before it started.
// `now_ms` is for a service of an earlier release, which does not tell.
double SecondsOfJob(const v1::Job& job, int64_t now_ms);

// Local time, "2024-05-01 12:00:00"; "-" for 0.
std::string FormatTime(int64_t unix_ms);

// "76.52 %"; "-" for a negative share.
std::string FormatShare(double share);

// How a finished job did on the test split, a line each, "" before that; names
// are as wide as in JobText().
std::string TestScoresText(const v1::JobProgress& progress);

// What `fgnn show`, `fgnn jobs` and `fgnn status` print.
std::string JobText(const v1::Job& job, int64_t now_ms);
std::string JobListText(const v1::ListJobsResponse& jobs, int64_t now_ms);
std::string ServiceText(const v1::ServiceInfo& service);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_JOB_TEXT_H_
