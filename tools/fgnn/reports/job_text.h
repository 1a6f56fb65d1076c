// Texts about jobs and services, for people.
#ifndef FGNN_TOOLS_FGNN_REPORTS_JOB_TEXT_H_
#define FGNN_TOOLS_FGNN_REPORTS_JOB_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"

namespace fgnn {

// Returns the state's name, e.g. "running".
std::string StateName(v1::JobState state);
// InvalidArgument, naming the known states: no state has this name.
absl::StatusOr<v1::JobState> ParseStateName(const std::string& name);

// Returns true for completed, failed and cancelled.
bool HasEnded(v1::JobState state);

// Returns OK for a completed job and Cancelled for a cancelled one. A failed
// job's status has its own code and one line. FailedPrecondition: the job has
// not ended.
absl::Status StatusOfJob(const v1::Job& job);

// Returns 0 for a completed job. Returns 2 for one that failed before its first
// batch because its file or its dataset is wrong, and 1 for any other.
int ExitCodeOfJob(const v1::Job& job);

// Returns local time, "2024-05-01 12:00:00"; "-" for 0.
std::string FormatTime(int64_t unix_ms);

// Return what `fgnn show`, `fgnn jobs` and `fgnn status` print.
std::string JobText(const v1::Job& job);
std::string JobListText(const v1::ListJobsResponse& jobs);
std::string ServiceText(const v1::ServiceInfo& service);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_JOB_TEXT_H_
