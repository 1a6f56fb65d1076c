// Makes a request to the service from the words of `run` and `submit`.
#ifndef FGNN_TOOLS_FGNN_SERVICE_JOB_REQUEST_H_
#define FGNN_TOOLS_FGNN_SERVICE_JOB_REQUEST_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "shared/command_line/command_line.h"
#include "shared/config/submission_options.h"

namespace fgnn {

struct JobRequestFlags {
  std::string job_file;
  std::vector<std::string> overrides;  // KEY=VALUE
  std::string run_dir;                 // Empty: the service chooses.
  SubmissionOptions options;           // All but the time limit.
  std::vector<std::string> after;  // Ids of jobs, or the beginnings of them.
  std::string time_limit;          // "90", "30m", "2h"; empty: none.
};

// Adds --set to a command; `overrides` must outlive it.
void AddOverrides(Command command, std::vector<std::string>& overrides);

// Adds JOB and the flags of a submission to a command; `flags` must outlive it.
void AddJobRequestFlags(Command command, JobRequestFlags& flags);

// Reads the job file, and checks it as far as possible without a service. The
// request has a client key of its own. InvalidArgument, NotFound: the error
// names the file and field, or the flag.
absl::StatusOr<v1::SubmitJobRequest> MakeJobRequest(
    const JobRequestFlags& flags);

// Returns the seconds of "90", "90s", "30m", "2h" or "1d". InvalidArgument: the
// text is none of these, or more than 2^32 - 1 seconds.
absl::StatusOr<uint32_t> ParseTimeLimit(const std::string& text);

// NotFound, with the way out: the folder has no run to go on with.
absl::Status CheckCanResume(const std::filesystem::path& run_dir);

// Returns a request to go on in a run's folder on the service's machine, which
// this program does not look into. `overrides` change the run's fields.
v1::SubmitJobRequest MakeRequestToResume(
    const std::string& run_dir, const std::vector<std::string>& overrides);

// Returns a request to go on in a run's folder.
absl::StatusOr<v1::SubmitJobRequest> MakeResumeRequest(
    const std::filesystem::path& run_dir,
    const std::vector<std::string>& overrides);

// Prints the notes that the service, or the plan, has on a job to stderr, a
// line each.
void PrintNotes(const std::vector<std::string>& notes);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_JOB_REQUEST_H_
