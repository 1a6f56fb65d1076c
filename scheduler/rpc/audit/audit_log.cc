#include "scheduler/rpc/audit/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/descriptor.h"
#include "shared/base/files/file.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMostTextBytes = 512;

absl::StatusOr<UniqueFd> OpenLog(const fs::path& path) {
  return OpenPlainFile(path, O_WRONLY | O_CREAT | O_APPEND);
}

// Returns the text of a message's field; empty: it has no such field.
std::string TextOf(const Message& message, const char* name) {
  const FieldDescriptor* const field =
      message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->type() != FieldDescriptor::TYPE_STRING ||
      field->is_repeated()) {
    return "";
  }
  return message.GetReflection()->GetString(message, field);
}

// Returns the id of the job in the answer: its own field, or that of its job.
std::string JobIn(const Message& response) {
  const FieldDescriptor* const field =
      response.GetDescriptor()->FindFieldByName("job");
  if (field == nullptr || field->type() != FieldDescriptor::TYPE_MESSAGE) {
    return TextOf(response, "job_id");
  }
  return TextOf(response.GetReflection()->GetMessage(response, field),
                "job_id");
}

std::string CallOf(const Message& request) {
  const std::string& name = request.GetDescriptor()->name();
  return std::string(absl::StripSuffix(name, "Request"));
}

std::string Shown(const std::string& text) {
  return PrintableText(text, kMostTextBytes);
}

std::string LineOf(const std::string& user, const std::string& caller,
                   const Message& request, const Message& response,
                   const absl::Status& status) {
  std::string job = status.ok() ? JobIn(response) : "";
  if (job.empty()) job = TextOf(request, "job_id");
  return JsonText(nlohmann::ordered_json(
             {{"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(),
                                        absl::UTCTimeZone())},
              {"user", Shown(user)},
              {"caller", Shown(caller)},
              {"call", CallOf(request)},
              {"job", Shown(job)},
              {"device", Shown(TextOf(request, "device"))},
              {"code", absl::StatusCodeToString(status.code())},
              {"message", Shown(MessageOf(status))}})) +
         "\n";
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(fs::path path,
                                                         uint64_t most_bytes) {
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, OpenLog(path));
  return std::unique_ptr<AuditLog>(
      new AuditLog(std::move(path), most_bytes, std::move(fd)));
}

void AuditLog::Write(const std::string& user, const std::string& caller,
                     const Message& request, const Message& response,
                     const grpc::Status& status) {
  const std::string line =
      LineOf(user, caller, request, response, FromGrpc(status));
  const MutexLock lock(&mutex_);
  const absl::Status written = AppendLocked(line);
  if (!written.ok() && !has_failed_) {
    LogError("the audit log loses lines: {}", MessageOf(written));
  }
  has_failed_ = !written.ok();
}

absl::Status AuditLog::AppendLocked(const std::string& line) {
  FGNN_RETURN_IF_ERROR(RotateIfFullLocked());
  const ssize_t written = ::write(fd_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  // A full disk took a part: the next line is not to go on in this one.
  if (written > 0) {
    struct stat file = {};
    if (::fstat(fd_.get(), &file) != 0 ||
        ::ftruncate(fd_.get(), file.st_size - written) != 0) {
      return ErrnoToStatus(errno, path_.string());
    }
    errno = ENOSPC;
  }
  return ErrnoToStatus(errno, absl::StrCat("write ", path_.string()));
}

absl::Status AuditLog::RotateIfFullLocked() {
  struct stat file = {};
  if (::fstat(fd_.get(), &file) != 0) {
    return ErrnoToStatus(errno, path_.string());
  }
  if (static_cast<uint64_t>(file.st_size) < most_bytes_) {
    return absl::OkStatus();
  }
  // Opened first: if it cannot be, the kept files stay as they are.
  const std::string next = absl::StrCat(path_.string(), ".new");
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, OpenLog(next));
  const auto kept = [this](int number) {
    return absl::StrCat(path_.string(), ".", number);
  };
  for (int number = kKept - 1; number > 0; --number) {
    if (::rename(kept(number).c_str(), kept(number + 1).c_str()) != 0 &&
        errno != ENOENT) {
      return ErrnoToStatus(errno, absl::StrCat("rename ", kept(number)));
    }
  }
  if (::rename(path_.c_str(), kept(1).c_str()) != 0 && errno != ENOENT) {
    return ErrnoToStatus(errno, absl::StrCat("rename ", path_.string()));
  }
  // From here on the full file is a kept one, whatever the new one is called.
  fd_ = std::move(fd);
  if (::rename(next.c_str(), path_.c_str()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("rename ", next));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
