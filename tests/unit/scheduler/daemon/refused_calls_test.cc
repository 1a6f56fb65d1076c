// Every call of JobService, asked for what it cannot do. Methods are found in
// the proto, so that a new one is asked too.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <set>

#include "fgnn/v1/device_service.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "shared/rpc/grpc_address.h"
#include "tests/unit/scheduler/daemon/service_fixture.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using testing::AllOf;
using testing::HasSubstr;

class RefusedCallsTest : public ServiceTest {
 protected:
  // Daemons read their orders when they start.
  void Start(const std::string& orders) {
    Order(orders);
    StartService();
    // What a client of ours would not send.
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    stub_ = std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
        GrpcAddress(SchedulerSocketPath(options_.state_dir)),
        grpc::InsecureChannelCredentials(), arguments));
  }

  static std::vector<const MethodDescriptor*> Methods(
      const ServiceDescriptor& service =
          *v1::Job::descriptor()->file()->FindServiceByName("JobService")) {
    std::vector<const MethodDescriptor*> methods;
    for (int i = 0; i < service.method_count(); ++i) {
      methods.push_back(service.method(i));
    }
    return methods;
  }
  static const MethodDescriptor& MethodOf(const std::string& name) {
    for (const MethodDescriptor* method : Methods()) {
      if (method->name() == name) return *method;
    }
    ADD_FAILURE() << "no method " << name;
    return *Methods().front();
  }
  // Those that are about one job.
  static std::vector<const MethodDescriptor*> MethodsOfAJob() {
    std::vector<const MethodDescriptor*> methods = Methods();
    std::erase_if(methods, [](const MethodDescriptor* method) {
      return method->input_type()->FindFieldByName("job_id") == nullptr;
    });
    return methods;
  }

  static std::unique_ptr<Message> RequestOf(const MethodDescriptor& method) {
    return std::unique_ptr<Message>(MessageFactory::generated_factory()
                                        ->GetPrototype(method.input_type())
                                        ->New());
  }

  // A stream that is refused looks like a call that is.
  absl::Status Ask(const MethodDescriptor& method, const Message& request,
                   std::chrono::milliseconds timeout) {
    grpc::ClientContext context;
    if (timeout.count() > 0) SetDeadline(context, timeout);
    const grpc::Slice slice(request.SerializeAsString());
    const grpc::ByteBuffer bytes(&slice, 1);
    grpc::CompletionQueue queue;
    const auto call = stub_->PrepareUnaryCall(
        &context,
        absl::StrCat("/", method.service()->full_name(), "/", method.name()),
        bytes, &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + kLong;
    if (queue.AsyncNext(&tag, &ok, deadline) !=
        grpc::CompletionQueue::GOT_EVENT) {
      context.TryCancel();
      queue.Next(&tag, &ok);
    }
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    return FromGrpc(status);
  }
  absl::Status AskOfJob(const MethodDescriptor& method, const std::string& id) {
    const std::unique_ptr<Message> request = RequestOf(method);
    const FieldDescriptor* field =
        method.input_type()->FindFieldByName("job_id");
    request->GetReflection()->SetString(request.get(), field, id);
    return Ask(method, *request, kLong);
  }

  std::vector<nlohmann::json> AuditLines() const {
    std::vector<nlohmann::json> lines;
    std::ifstream file(LogPath(options_.state_dir, "audit"));
    for (std::string line; std::getline(file, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

  std::unique_ptr<grpc::GenericStub> stub_;
};

// Calls of the protos that users have and that are not listed here are held to
// change something.
TEST_F(RefusedCallsTest, EveryChangeHasALineOfTheAuditLogAndNothingElseHas) {
  const std::set<std::string> reads = {"GetJob",     "ListJobs",
                                       "WatchJob",   "GetMetrics",
                                       "GetService", "ListDevices"};
  Start("hold");
  for (const ServiceDescriptor* service :
       {v1::Job::descriptor()->file()->FindServiceByName("JobService"),
        v1::Device::descriptor()->file()->FindServiceByName("DeviceService")}) {
    for (const MethodDescriptor* method : Methods(*service)) {
      SCOPED_TRACE(method->full_name());
      const size_t before = AuditLines().size();
      // Without a deadline, so that Shutdown is refused too.
      EXPECT_FALSE(
          Ask(*method, *RequestOf(*method), std::chrono::hours(0)).ok());
      const std::vector<nlohmann::json> lines = AuditLines();
      if (reads.contains(method->name())) {
        EXPECT_EQ(lines.size(), before);
        continue;
      }
      ASSERT_EQ(lines.size(), before + 1);
      EXPECT_EQ(lines.back()["call"], method->name());
      EXPECT_EQ(lines.back()["code"], "INVALID_ARGUMENT");
      EXPECT_THAT(std::string(lines.back()["caller"]),
                  HasSubstr(absl::StrCat("uid ", ::geteuid(), ", pid ")));
    }
  }
}

TEST_F(RefusedCallsTest, TheAuditLogNamesTheJobAndNoNameForgesALine) {
  Start("hold");
  const std::string id = Submit(Spec())->job_id();
  FGNN_ASSERT_OK(Cancel(id.substr(0, id.size() - 1)).status());
  EXPECT_FALSE(Cancel("x\n{\"call\": \"Shutdown\"}\n").ok());
  const std::vector<nlohmann::json> lines = AuditLines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["call"], "SubmitJob");
  EXPECT_EQ(lines[0]["job"], id);
  EXPECT_EQ(lines[1]["job"], id);
  EXPECT_EQ(lines[1]["code"], "OK");
  EXPECT_EQ(lines[2]["job"], "x\\n{\"call\": \"Shutdown\"}\\n");
  EXPECT_EQ(lines[2]["code"], "NOT_FOUND");
}

TEST_F(RefusedCallsTest, WithoutADeadlineOrWithOneBeyondAnHour) {
  Start("hold");
  for (const MethodDescriptor* method : Methods()) {
    SCOPED_TRACE(method->name());
    for (const int hours : {0, 2}) {  // 0: none.
      EXPECT_THAT(
          Ask(*method, *RequestOf(*method), std::chrono::hours(hours)),
          StatusIs(StatusCode::kInvalidArgument, HasSubstr("deadline")));
    }
  }
  EXPECT_FALSE(ended_);  // Shutdown was among them.
}

TEST_F(RefusedCallsTest, AMessageOfTenMegabytes) {
  Start("hold");
  const std::string large(10'000'000, 'x');
  for (const MethodDescriptor* method : Methods()) {
    SCOPED_TRACE(method->name());
    const std::unique_ptr<Message> request = RequestOf(*method);
    // In a field that nobody knows, which every message may have.
    request->GetReflection()
        ->MutableUnknownFields(request.get())
        ->AddLengthDelimited(1000, large);
    EXPECT_THAT(Ask(*method, *request, kLong),
                StatusIs(StatusCode::kResourceExhausted,
                         AllOf(HasSubstr("10000"), HasSubstr("1048576"))));
  }
  EXPECT_FALSE(ended_);
}

TEST_F(RefusedCallsTest, AJobThatIsNotThereOrNotOne) {
  Start("hold");
  const std::string first = Submit(Spec())->job_id();
  const std::string second = Submit(Spec())->job_id();
  const std::string both = first.substr(0, 1);
  ASSERT_EQ(second.substr(0, 1), both);
  for (const MethodDescriptor* method : MethodsOfAJob()) {
    SCOPED_TRACE(method->name());
    EXPECT_THAT(AskOfJob(*method, ""),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("job_id")));
    EXPECT_THAT(AskOfJob(*method, "nobody"),
                StatusIs(StatusCode::kNotFound, HasSubstr("'nobody'")));
    EXPECT_THAT(AskOfJob(*method, both),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("'", both, "'"))));
  }
}

TEST_F(RefusedCallsTest, AJobThatHasEnded) {
  Start("");
  const std::string id = Submit(Spec())->job_id();
  ASSERT_EQ(Watch(id).state(), v1::JOB_STATE_COMPLETED);
  for (const char* method : {"CancelJob", "PauseJob", "ContinueJob"}) {
    SCOPED_TRACE(method);
    EXPECT_THAT(AskOfJob(MethodOf(method), id),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(id), HasSubstr("completed"))));
  }
}

TEST_F(RefusedCallsTest, DevicesThatAreNotThere) {
  Start("hold");
  v1::JobSpec spec = Spec();
  v1::JobSpec many = Spec();
  many.mutable_device_request()->set_min(2);
  EXPECT_THAT(
      Submit(many),
      StatusIs(StatusCode::kInvalidArgument,
               "devices: needs 2 devices, the service has 1: " + FirstCore() +
                   "; ask for fewer or start it with --devices"));
  many.mutable_device_request()->set_min(1);
  many.mutable_device_request()->set_kind("tpu");
  EXPECT_THAT(Submit(many), StatusIs(StatusCode::kInvalidArgument,
                                     HasSubstr("devices.kind: 'tpu'")));
  spec.add_devices("cpu:1023");
  EXPECT_THAT(Submit(spec), StatusIs(StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr("core 1023"),
                                           HasSubstr(AllCoresDevice()))));
  spec.set_devices(0, "cpu:4000");
  EXPECT_THAT(Submit(spec),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("cpu:4000"), HasSubstr("above 1023"))));
  spec.set_devices(0, "cuda:x");
  EXPECT_THAT(Submit(spec),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cuda:x")));
  spec.set_devices(0, "tpu");
  EXPECT_THAT(Submit(spec),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("tpu")));
}

// Others' terminals show them, and logs.
TEST_F(RefusedCallsTest, TextsWithControlCharacters) {
  Start("hold");
  EXPECT_THAT(Submit(Spec(), "", (temp_ / "a\x1b[2Jb").string()),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("run_dir has control characters"),
                             HasSubstr("a\\x1b[2Jb"))));
  EXPECT_THAT(Submit(Spec(), "", (temp_ / "a\nb").string()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("run_dir")));
  v1::JobSpec spec = Spec();
  spec.set_dataset(spec.dataset() + "\xc2\x9b");
  EXPECT_THAT(Submit(spec),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("spec.dataset has control characters")));
  spec = Spec();
  spec.mutable_sampling()->set_plugin("a\rb");
  EXPECT_THAT(Submit(spec), StatusIs(StatusCode::kInvalidArgument,
                                     HasSubstr("spec.sampling.plugin")));
  spec = Spec();
  spec.add_devices("cpu:0\x7f");
  EXPECT_THAT(Submit(spec), StatusIs(StatusCode::kInvalidArgument,
                                     HasSubstr("spec.devices")));
}

TEST_F(RefusedCallsTest, ADatasetOutsideOfTheRootsAlsoWhenTheJobStarts) {
  const fs::path graphs = temp_ / "graphs";
  WriteRing(graphs / "ring", {});
  options_.paths.dataset_roots = MakeRoots({graphs.string()}, "--x").value();
  Start("hold");
  v1::JobSpec spec = Spec();
  EXPECT_THAT(Submit(spec), StatusIs(StatusCode::kPermissionDenied,
                                     HasSubstr("--dataset-root")));
  EXPECT_EQ(AuditLines().back()["code"], "PERMISSION_DENIED");
  spec.set_dataset((graphs / "ring").string());
  const std::string first = Submit(spec)->job_id();
  const std::string second = Submit(spec)->job_id();
  Watch(first, [](const v1::Job& job) {
    return job.state() == v1::JOB_STATE_RUNNING;
  });
  fs::remove_all(graphs / "ring");
  fs::create_directory_symlink(temp_ / "ring", graphs / "ring");
  FGNN_ASSERT_OK(Cancel(first).status());
  const v1::Job ended = Watch(second);
  EXPECT_EQ(ended.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(ended.error_message(), HasSubstr("--dataset-root"));
}

TEST_F(RefusedCallsTest, ARunFolderThatIsNoneOrNowhere) {
  Start("hold");
  EXPECT_THAT(Submit(Spec(), "", "results"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("results")));
  v1::SubmitJobRequest request;
  request.set_resume(true);
  const auto resume = [&](const std::string& run_dir) {
    request.set_run_dir(run_dir);
    return Call(&v1::JobService::Stub::SubmitJob, request);
  };
  EXPECT_THAT(resume("results"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("results")));
  EXPECT_THAT(resume((temp_ / "nowhere").string()),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere")));
  *request.mutable_spec() = Spec();
  EXPECT_THAT(resume((temp_ / "nowhere").string()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("spec")));
}

}  // namespace
}  // namespace fgnn
