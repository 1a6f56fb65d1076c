// The options of a submission: what a client asks for beside the spec.
// submission_options_proto.h converts them.
#ifndef FGNN_SHARED_CONFIG_SUBMISSION_OPTIONS_H_
#define FGNN_SHARED_CONFIG_SUBMISSION_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

struct SubmissionOptions {
  bool digest = false;    // Whether to write batches.crc.
  bool trace = false;     // Whether to write trace.json.
  std::string name = {};  // Name that the client gave; empty: none.
  int32_t priority = 0;   // Jobs of higher priority go first.
  uint32_t retries = 0;   // Most failed starts after which it starts again.
  uint32_t time_limit_seconds = 0;  // Limit of Job::run_seconds; 0: none.

  friend bool operator==(const SubmissionOptions&,
                         const SubmissionOptions&) = default;
};

// InvalidArgument: an option is out of range; the message names it.
absl::Status CheckOptions(const SubmissionOptions& options);

// Returns the options as the job store has them.
std::string ToBytes(const SubmissionOptions& options);
// Reads what ToBytes() returned. DataLoss: it is none of that.
absl::StatusOr<SubmissionOptions> OptionsOfBytes(const std::string& bytes);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_SUBMISSION_OPTIONS_H_
