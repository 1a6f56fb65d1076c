// The audit log: a line for every change that a client asks for, done or
// refused. A line is a JSON object of ASCII text:
//
//   {"time": "2026-11-26T10:15:00.123Z", "user": "ann",
//    "caller": "user ann (uid 1000, pid 4711)", "call": "CancelJob",
//    "job": "20261126-101500-7f3a", "device": "", "code": "OK", "message": ""}
//
// `job` is the job that the call was about, or the word of a refused call;
// `device` is that of SwitchDevice; `message` says why the call was refused.
#ifndef FGNN_SCHEDULER_RPC_AUDIT_AUDIT_LOG_H_
#define FGNN_SCHEDULER_RPC_AUDIT_AUDIT_LOG_H_

#include <grpcpp/support/status.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class AuditLog {
 public:
  static constexpr uint64_t kMostBytes = 16 << 20;
  // Full files that are kept beside the log: "<name>.1" is the newest.
  static constexpr int kKept = 4;

  // Appends to the file, which is made with mode 0640. Errors: the file cannot
  // be opened.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(
      std::filesystem::path path, uint64_t most_bytes = kMostBytes);

  // Writes the line of a call that was answered with `status`. `caller` is what
  // Describe() says of the one whose name is `user`. A line that
  // cannot be written is lost, and the service's log says so: a full disk does
  // not keep anyone from ending a job.
  void Write(const std::string& user, const std::string& caller,
             const google::protobuf::Message& request,
             const google::protobuf::Message& response,
             const grpc::Status& status);

 private:
  AuditLog(std::filesystem::path path, uint64_t most_bytes, UniqueFd fd)
      : path_(std::move(path)), most_bytes_(most_bytes), fd_(std::move(fd)) {}
  absl::Status AppendLocked(const std::string& line)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RotateIfFullLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::filesystem::path path_;
  const uint64_t most_bytes_;
  Mutex mutex_;
  UniqueFd fd_ ABSL_GUARDED_BY(mutex_);
  // Whether the last line was lost.
  bool has_failed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_AUDIT_AUDIT_LOG_H_
