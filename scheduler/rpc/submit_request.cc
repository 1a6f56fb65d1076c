#include "scheduler/rpc/submit_request.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "scheduler/files/run_lock.h"
#include "shared/base/status.h"
#include "shared/config/field_checks.h"
#include "shared/config/job_notes.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/submission_options_proto.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kMaxAfter = 100;

using TextCheck = absl::FunctionRef<absl::Status(const FieldDescriptor& field,
                                                 const std::string& name,
                                                 const std::string& text)>;

// Checks every text of the message and of its submessages. `path` names the
// message, such as "spec.".
absl::Status CheckEachText(const Message& message, const std::string& path,
                           TextCheck check) {
  const Reflection& fields = *message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  fields.ListFields(message, &set);
  for (const FieldDescriptor* const field : set) {
    const std::string name = absl::StrCat(path, field->name());
    const bool is_text = field->type() == FieldDescriptor::TYPE_STRING;
    const bool is_message =
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const int count =
        field->is_repeated() ? fields.FieldSize(message, field) : 1;
    for (int i = 0; i < count && (is_text || is_message); ++i) {
      if (is_text) {
        FGNN_RETURN_IF_ERROR(check(
            *field, name,
            field->is_repeated() ? fields.GetRepeatedString(message, field, i)
                                 : fields.GetString(message, field)));
      } else {
        FGNN_RETURN_IF_ERROR(CheckEachText(
            field->is_repeated() ? fields.GetRepeatedMessage(message, field, i)
                                 : fields.GetMessage(message, field),
            name + ".", check));
      }
    }
  }
  return absl::OkStatus();
}

// Paths and names are printed to terminals and logs, and kept in the store.
absl::Status CheckTexts(const Message& message, const std::string& path) {
  return CheckEachText(message, path,
                       [](const FieldDescriptor& field, const std::string& name,
                          const std::string& text) {
                         absl::Status checked = CheckLength(field, name, text);
                         return checked.ok() ? CheckPrintable(name, text)
                                             : checked;
                       });
}

absl::Status CheckAfter(const v1::SubmitJobRequest& request) {
  if (request.after_size() <= kMaxAfter) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("after names ", request.after_size(), " jobs, at most ",
                   kMaxAfter, " are allowed"));
}

absl::Status CheckAbsolute(const char* field, const std::string& path) {
  if (path.empty() || std::filesystem::path(path).is_absolute()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": '", path, "' is not an absolute path"));
}

// Returns the spec of the request. A resumed run goes on with the spec in its
// folder.
absl::StatusOr<v1::JobSpec> SpecOf(
    const v1::SubmitJobRequest& request,
    absl::FunctionRef<absl::Status(const std::filesystem::path&)>
        check_resumed) {
  if (!request.resume() && request.overrides().empty()) return request.spec();
  if (!request.resume()) {
    return absl::InvalidArgumentError(
        "overrides: only a job that is resumed has them; change spec instead");
  }
  if (request.has_spec()) {
    return absl::InvalidArgumentError(
        "spec: a job that is resumed has that of its run_dir; leave it out");
  }
  const std::filesystem::path run_dir = CanonicalRunDir(request.run_dir());
  if (!run_dir.is_absolute()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "run_dir '", request.run_dir(), "' is not an absolute path"));
  }
  FGNN_RETURN_IF_ERROR(check_resumed(run_dir));
  const std::filesystem::path job_file = run_dir / "job.yaml";
  std::error_code error;
  if (!std::filesystem::exists(job_file, error) && !error) {
    return absl::NotFoundError(absl::StrCat(
        "run_dir ", run_dir.string(),
        " has no job.yaml: nothing is there to "
        "go on from, for its job ended before it made the folder; submit that "
        "job's file again"));
  }
  FGNN_ASSIGN_OR_RETURN(v1::JobSpec spec, ReadRunsJobFile(run_dir));
  FGNN_RETURN_IF_ERROR(ApplyOverrides(
      {request.overrides().begin(), request.overrides().end()}, &spec));
  FGNN_RETURN_IF_ERROR(CheckAbsolute("model.file", spec.model().file()));
  FGNN_RETURN_IF_ERROR(CheckAbsolute("model.python", spec.model().python()));
  return spec;
}

// Returns the devices that a job has now that names none.
std::vector<std::string> DevicesFor(const v1::JobSpec& asked,
                                    const ServiceNow& service) {
  std::vector<Device> devices = service.devices;
  const WantedHosts wanted = AnyHosts(asked.hosts().max(), service.devices);
  uint32_t num_hosts = 1;
  for (const size_t host : CandidatesOf(wanted, service.hosts)) {
    if (num_hosts >= wanted.max) break;
    if (!IsThere(wanted, service.hosts[host])) continue;
    const std::vector<Device> more = DevicesOn(wanted, service.hosts[host]);
    devices.insert(devices.end(), more.begin(), more.end());
    ++num_hosts;
  }
  return NamesOf(devices);
}

}  // namespace

absl::Status CheckLengths(const Message& request) {
  return CheckEachText(request, /*path=*/"", CheckLength);
}

absl::StatusOr<ReadRequest> ReadSubmitRequest(
    const v1::SubmitJobRequest& request, const std::string& user,
    const ServiceNow& service,
    absl::FunctionRef<absl::Status(const std::filesystem::path&)>
        check_resumed) {
  FGNN_RETURN_IF_ERROR(CheckName("client_key", request.client_key()));
  const SubmissionOptions options = OptionsOf(request);
  FGNN_RETURN_IF_ERROR(CheckOptions(options));
  FGNN_RETURN_IF_ERROR(CheckAfter(request));
  FGNN_RETURN_IF_ERROR(CheckTexts(request, /*path=*/""));
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec asked,
                        SpecOf(request, check_resumed));
  FGNN_RETURN_IF_ERROR(CheckTexts(asked, "spec."));
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec effective,
                        MakeEffective(asked, DevicesFor(asked, service)));
  ReadRequest read;
  read.spec = FromProto(effective);
  read.notes = NotesOnJob(asked, effective);
  // A job that names no devices has all of the service, at each start those of
  // then: the run may go on where there are others.
  JobSpec kept = read.spec;
  if (asked.devices().empty()) kept.devices.clear();
  read.request = {.spec = std::make_shared<const JobSpec>(std::move(kept)),
                  .run_dir = CanonicalRunDir(request.run_dir()).string(),
                  .client_key = request.client_key(),
                  .options = options,
                  .resume = request.resume(),
                  .changes_spec = !request.overrides().empty(),
                  .user = user,
                  .after = {request.after().begin(), request.after().end()}};
  return read;
}

}  // namespace fgnn
