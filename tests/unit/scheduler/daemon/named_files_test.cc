// Texts of clients' calls that name files or folders. Fields are found in the
// proto, so a new one has to be put into the table here, and with it the check
// of what a user may read or write.
#include <map>
#include <set>

#include "fgnn/v1/device_service.pb.h"
#include "google/protobuf/descriptor.h"
#include "tests/unit/scheduler/daemon/service_fixture.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::ServiceDescriptor;
using testing::HasSubstr;

enum class Names {
  kWord,    // No file.
  kPlugin,  // A name in plugins/, which only the service's user writes.
  kFile,    // A file or folder; the rights of the caller decide.
  // A program, which only a caller who is the service's user may name.
  kProgram,
};

const std::map<std::string, Names>& Texts() {
  static const auto* const texts = new std::map<std::string, Names>{
      {"SubmitJobRequest.client_key", Names::kWord},
      {"SubmitJobRequest.run_dir", Names::kFile},
      {"SubmitJobRequest.name", Names::kWord},
      {"SubmitJobRequest.after", Names::kWord},
      {"SubmitJobRequest.overrides", Names::kWord},
      {"SubmitJobRequest.spec.dataset", Names::kFile},
      {"SubmitJobRequest.spec.preset", Names::kWord},
      {"SubmitJobRequest.spec.devices", Names::kWord},
      {"SubmitJobRequest.spec.executors", Names::kWord},
      {"SubmitJobRequest.spec.device_request.kind", Names::kWord},
      {"SubmitJobRequest.spec.model.kind", Names::kWord},
      {"SubmitJobRequest.spec.model.aggregator", Names::kWord},
      {"SubmitJobRequest.spec.model.normalization", Names::kWord},
      {"SubmitJobRequest.spec.model.degree_norm", Names::kWord},
      {"SubmitJobRequest.spec.model.plugin", Names::kPlugin},
      {"SubmitJobRequest.spec.model.file", Names::kFile},
      {"SubmitJobRequest.spec.model.class_name", Names::kWord},
      {"SubmitJobRequest.spec.model.python", Names::kProgram},
      {"SubmitJobRequest.spec.sampling.kind", Names::kWord},
      {"SubmitJobRequest.spec.sampling.weights", Names::kFile},
      {"SubmitJobRequest.spec.sampling.plugin", Names::kPlugin},
      {"SubmitJobRequest.spec.sampling.order", Names::kWord},
      {"SubmitJobRequest.spec.training.task", Names::kWord},
      {"SubmitJobRequest.spec.training.seeds", Names::kWord},
      {"SubmitJobRequest.spec.training.optimizer", Names::kWord},
      {"SubmitJobRequest.spec.training.schedule", Names::kWord},
      {"SubmitJobRequest.spec.training.sync", Names::kWord},
      {"SubmitJobRequest.spec.training.precision", Names::kWord},
      {"SubmitJobRequest.spec.training.share_inputs", Names::kWord},
      {"SubmitJobRequest.spec.cache.policy", Names::kWord},
      {"SubmitJobRequest.spec.cache.capacity", Names::kWord},
      {"SubmitJobRequest.spec.cache.standby_capacity", Names::kWord},
      {"SubmitJobRequest.spec.cache.plugin", Names::kPlugin},
      {"SubmitJobRequest.spec.features.store", Names::kWord},
      {"SubmitJobRequest.spec.features.match", Names::kWord},
      {"SubmitJobRequest.spec.features.wire", Names::kWord},
      {"SubmitJobRequest.spec.limits.memory", Names::kWord},
      {"SubmitJobRequest.spec.hosts.evaluation", Names::kWord},
      {"GetJobRequest.job_id", Names::kWord},
      {"ListJobsRequest.user", Names::kWord},
      {"ListJobsRequest.search", Names::kWord},
      {"ListJobsRequest.before_job_id", Names::kWord},
      {"WatchJobRequest.job_id", Names::kWord},
      {"CancelJobRequest.job_id", Names::kWord},
      {"PauseJobRequest.job_id", Names::kWord},
      {"ContinueJobRequest.job_id", Names::kWord},
      {"DeleteJobRequest.job_id", Names::kWord},
      {"GetMetricsRequest.job_id", Names::kWord},
      {"SwitchDeviceRequest.job_id", Names::kWord},
      {"SwitchDeviceRequest.device", Names::kWord},
      {"SwitchDeviceRequest.role", Names::kWord}};
  return *texts;
}

void FindTexts(const Descriptor& message, const std::string& path,
               std::set<std::string>& found) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const std::string name = absl::StrCat(path, ".", field.name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      FindTexts(*field.message_type(), name, found);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      found.insert(name);
    }
  }
}

TEST(NamedFilesTest, EveryTextOfEveryCallIsKnown) {
  std::set<std::string> found;
  for (const ServiceDescriptor* const service :
       {v1::Job::descriptor()->file()->FindServiceByName("JobService"),
        v1::Device::descriptor()->file()->FindServiceByName("DeviceService")}) {
    for (int i = 0; i < service->method_count(); ++i) {
      const Descriptor& request = *service->method(i)->input_type();
      FindTexts(request, request.name(), found);
    }
  }
  for (const std::string& name : found) {
    EXPECT_EQ(Texts().count(name), 1U)
        << name << " is new: does it name a file? Put it into the table, and "
        << "into CheckJobPaths() if it does";
  }
  for (const auto& [name, kind] : Texts())
    EXPECT_EQ(found.count(name), 1U) << name;
}

class NamedFilesServiceTest : public ServiceTest {
 protected:
  // Sets the field of this path to a word.
  static void Set(Message& message, const std::string& path,
                  const std::string& word) {
    const size_t end = path.find('.');
    const FieldDescriptor* const field =
        message.GetDescriptor()->FindFieldByName(path.substr(0, end));
    if (end == std::string::npos) {
      message.GetReflection()->SetString(&message, field, word);
    } else {
      Set(*message.GetReflection()->MutableMessage(&message, field),
          path.substr(end + 1), word);
    }
  }
};

TEST_F(NamedFilesServiceTest, NoneLeadsToWhatTheCallerMayNotReach) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  StartService();
  BecomeUser(kSomeUser);
  const fs::path closed = temp_ / "closed";
  WriteRing(closed, {});
  fs::permissions(closed, fs::perms(0700));
  // The job's own dataset, with a link that leads there.
  fs::create_symlink(closed / "labels.npy", temp_ / "ring/w.npy");
  for (const auto& [name, kind] : Texts()) {
    if (kind != Names::kFile) continue;
    for (const std::string& word :
         {(closed / "labels.npy").string(), closed.string(),
          std::string("w.npy"), std::string("../closed/labels.npy")}) {
      v1::SubmitJobRequest request;
      *request.mutable_spec() = Spec();
      const std::string path = name.substr(name.find('.') + 1);
      if (path == "spec.model.file") {
        request.mutable_spec()->mutable_model()->set_kind("torchscript");
      } else if (path == "spec.sampling.weights") {
        request.mutable_spec()->mutable_sampling()->set_kind("khop_weighted");
      }
      const bool is_name = word == "w.npy";
      const bool takes_names = path == "spec.sampling.weights";
      if (word.front() != '/' && !takes_names) continue;
      Set(request, path, word);
      const absl::Status refused =
          Call(&v1::JobService::Stub::SubmitJob, request).status();
      if (takes_names && !is_name) {
        EXPECT_THAT(refused, StatusIs(StatusCode::kInvalidArgument,
                                      HasSubstr("not the name of a file")))
            << name << " " << word;
      } else {
        EXPECT_THAT(refused, StatusIs(StatusCode::kPermissionDenied,
                                      HasSubstr(closed.string())))
            << name << " " << word;
      }
    }
  }
}

// Its code would run as the service's user.
TEST_F(NamedFilesServiceTest, AClassOfPythonIsTheServiceUsers) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  StartService();
  v1::SubmitJobRequest request;
  *request.mutable_spec() = Spec();
  v1::ModelSpec& model = *request.mutable_spec()->mutable_model();
  model.set_kind("python");
  model.set_file("/usr/lib/python3/model.py");
  model.set_class_name("Sage");
  EXPECT_THAT(Call(&v1::JobService::Stub::SubmitJob, request), IsOk());
  BecomeUser(kSomeUser);
  EXPECT_THAT(Call(&v1::JobService::Stub::SubmitJob, request).status(),
              PermissionDenied("model.kind python runs code as the service's "
                               "user, root",
                               "'fgnn up'"));
}

TEST_F(NamedFilesServiceTest, EveryTextHasALength) {
  StartService();
  for (const auto& [name, kind] : Texts()) {
    if (name.rfind("SubmitJobRequest.", 0) != 0) continue;
    const std::string path = name.substr(name.find('.') + 1);
    if (path == "after" || path == "overrides" || path == "spec.devices") {
      continue;  // Lists.
    }
    v1::SubmitJobRequest request;
    *request.mutable_spec() = Spec();
    Set(request, path, "/" + std::string(4'100, 'x'));
    EXPECT_THAT(
        Call(&v1::JobService::Stub::SubmitJob, request).status(),
        StatusIs(StatusCode::kInvalidArgument,
                 testing::AllOf(HasSubstr(path), HasSubstr("4101 bytes"))));
  }
  v1::GetJobRequest get;
  get.set_job_id(std::string(256, 'x'));
  EXPECT_THAT(Call(&v1::JobService::Stub::GetJob, get).status(),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("job_id has 256 bytes, at most 255")));
  v1::CancelJobRequest cancel;
  cancel.set_job_id(std::string(256, 'x'));
  EXPECT_THAT(Call(&v1::JobService::Stub::CancelJob, cancel).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("256 bytes")));
}

}  // namespace
}  // namespace fgnn
