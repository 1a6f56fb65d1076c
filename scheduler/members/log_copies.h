// The head's copies of the logs of its members.
#ifndef FGNN_SCHEDULER_MEMBERS_LOG_COPIES_H_
#define FGNN_SCHEDULER_MEMBERS_LOG_COPIES_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/members/member_messages.h"

namespace fgnn {

// A copy is a file, which HostFolder() has. It outlives its member and the
// head. Thread-safe.
class LogCopies {
 public:
  explicit LogCopies(std::filesystem::path state_dir)
      : state_dir_(std::move(state_dir)) {}

  // Adds the part to its copy. Returns the size of the copy, from which the
  // member goes on. A part at 0 begins the copy anew. One elsewhere than at the
  // end is left out. InvalidArgument: the name of the host or of the log is
  // none. ResourceExhausted: the copy would be larger than a log is.
  absl::StatusOr<uint64_t> Take(const std::string& host,
                                const LogPart& part) const;

 private:
  const std::filesystem::path state_dir_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_MEMBERS_LOG_COPIES_H_
