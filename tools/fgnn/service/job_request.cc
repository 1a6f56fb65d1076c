#include "tools/fgnn/service/job_request.h"

#include <filesystem>
#include <iostream>
#include <random>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/submission_options_proto.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

// Makes a key that identifies the submission; no random choice of the job
// depends on it.
std::string MakeClientKey() {
  std::random_device entropy;
  return absl::StrCat(absl::Hex(entropy(), absl::kZeroPad8),
                      absl::Hex(entropy(), absl::kZeroPad8),
                      absl::Hex(entropy(), absl::kZeroPad8),
                      absl::Hex(entropy(), absl::kZeroPad8));
}

}  // namespace

void AddOverrides(Command command, std::vector<std::string>& overrides) {
  command
      .AddOption("--set", overrides,
                 "Override a field of the job, e.g. training.epochs=3; may be "
                 "given again")
      .Takes("KEY=VALUE")
      .OneWordEach();
}

void AddJobRequestFlags(Command command, JobRequestFlags& flags) {
  command.AddOption("JOB", flags.job_file, "Job file (YAML)")
      .Required()
      .Takes("FILE");
  AddOverrides(command, flags.overrides);
  command
      .AddOption("--run-dir", flags.run_dir,
                 "Folder for the results, new or empty; default: "
                 "runs/JOB_ID in the state folder")
      .Takes("DIR");
  command.AddFlag("--digest", flags.options.digest,
                  "Write batches.crc, a line per batch, to compare runs");
  command.AddFlag("--trace", flags.options.trace,
                  "Write trace.json: what ran when, for chrome://tracing");
  command
      .AddOption("--name", flags.options.name,
                 "A name, which commands take for the job's id")
      .Takes("TEXT");
  command
      .AddOption("--priority", flags.options.priority,
                 "Priority, -100 to 100, default 0; higher ones go first and "
                 "pause lower ones that run")
      .Takes("N");
  command
      .AddOption("--after", flags.after,
                 "Jobs that have to complete before, with commas between: "
                 "ids, unique parts of them, names, or 'last'")
      .Takes("JOB")
      .SplitAt(',')
      .OneWordEach();
  command
      .AddOption("--retries", flags.options.retries,
                 "Start again, from the newest checkpoint, after so many "
                 "failures that another start may mend")
      .Takes("N");
  command
      .AddOption("--time-limit", flags.time_limit,
                 "Time with devices after which the job ends, e.g. 30m or 2h; "
                 "its checkpoint is kept")
      .Takes("TIME");
}

absl::StatusOr<uint32_t> ParseTimeLimit(const std::string& text) {
  std::string number = text;
  uint64_t unit = 1;
  for (const auto& [letter, seconds] :
       {std::pair('d', 24 * 3600), {'h', 3600}, {'m', 60}, {'s', 1}}) {
    if (text.empty() || text.back() != letter) continue;
    unit = static_cast<uint64_t>(seconds);
    number.pop_back();
  }
  uint32_t count = 0;
  const bool is_number = !number.empty() &&
                         absl::ascii_isdigit(number.front()) &&
                         absl::SimpleAtoi(number, &count);
  if (!is_number || count == 0 || count * unit > UINT32_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--time-limit '", text, "' is no time; write seconds, or 30m, 2h, 1d"));
  }
  return static_cast<uint32_t>(count * unit);
}

absl::StatusOr<v1::SubmitJobRequest> MakeJobRequest(
    const JobRequestFlags& flags) {
  v1::SubmitJobRequest request;
  FGNN_ASSIGN_OR_RETURN(*request.mutable_spec(),
                        ReadJobFile(flags.job_file, flags.overrides));
  // An error in the file itself is reported without a service.
  FGNN_RETURN_IF_ERROR(
      MakeEffective(request.spec(), {AllCoresDevice()}).status());
  if (!flags.run_dir.empty()) {
    std::error_code error;
    const std::filesystem::path run_dir = flags.run_dir;
    const std::filesystem::path absolute =
        std::filesystem::absolute(run_dir, error).lexically_normal();
    if (error) return ErrnoToStatus(error.value(), "--run-dir");
    request.set_run_dir(absolute.string());
  }
  request.set_client_key(MakeClientKey());
  for (const std::string& id : flags.after) request.add_after(id);
  SubmissionOptions options = flags.options;
  if (!flags.time_limit.empty()) {
    FGNN_ASSIGN_OR_RETURN(options.time_limit_seconds,
                          ParseTimeLimit(flags.time_limit));
  }
  SetOptions(options, &request);
  return request;
}

absl::Status CheckCanResume(const std::filesystem::path& run_dir) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(run_dir / "job.yaml", error);
  if (error) return ErrnoToStatus(error.value(), run_dir.string());
  if (is_there) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      run_dir.string(),
      " has no job.yaml: nothing is there to go on from. A "
      "job that ends while it is prepared makes no folder; submit its job file "
      "again"));
}

v1::SubmitJobRequest MakeRequestToResume(
    const std::string& run_dir, const std::vector<std::string>& overrides) {
  v1::SubmitJobRequest request;
  request.set_run_dir(run_dir);
  request.set_client_key(MakeClientKey());
  request.set_resume(true);
  request.mutable_overrides()->Add(overrides.begin(), overrides.end());
  return request;
}

absl::StatusOr<v1::SubmitJobRequest> MakeResumeRequest(
    const std::filesystem::path& run_dir,
    const std::vector<std::string>& overrides) {
  std::error_code error;
  const std::filesystem::path absolute =
      std::filesystem::canonical(run_dir, error);
  if (error) return ErrnoToStatus(error.value(), run_dir.string());
  return MakeRequestToResume(absolute.string(), overrides);
}

void PrintNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::cerr << "note: " << PrintableText(note) << std::endl;
  }
}

}  // namespace fgnn
