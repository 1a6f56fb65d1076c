// What a client may ask of a service, and what it is told.
#include "tests/unit/scheduler/daemon/service_fixture.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST_F(ServiceTest, AJobRunsFromItsSubmissionToItsSummary) {
  StartService();
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job submitted, Submit(Spec()));
  EXPECT_EQ(submitted.run_dir(),
            (options_.state_dir / "runs" / submitted.job_id()).string());
  // It names no devices, so that it may go on with others.
  EXPECT_EQ(submitted.spec().devices_size(), 0);
  const v1::Job job = Watch(submitted.job_id());
  ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  EXPECT_THAT(job.devices(), testing::ElementsAre(FirstCore()));
  EXPECT_EQ(job.progress().batches_committed(), 60U);
  EXPECT_EQ(job.progress().test().accuracy(), 0.75);
  EXPECT_EQ(job.progress().test().macro_f1(), 0.5);
  EXPECT_EQ(job.progress().test().roc_auc(), 0.25);
  EXPECT_EQ(ReadRun(job, "checkpoints/epoch-0003.safetensors"), "60");
  const auto summary = nlohmann::json::parse(ReadRun(job, "summary.json"));
  EXPECT_EQ(summary["state"], "completed");
  EXPECT_EQ(summary["best_epoch"], 1);
  // A unique beginning of its id names it, now and after a restart.
  EXPECT_EQ(Get(job.job_id().substr(0, 12))->job_id(), job.job_id());
  StopService();
  StartService();
  EXPECT_EQ(Get(job.job_id())->state(), v1::JOB_STATE_COMPLETED);
  EXPECT_EQ(Get(job.job_id())->progress().test().accuracy(), 0.75);
}

TEST_F(ServiceTest, CancelReturnsOnceNothingIsLeft) {
  Order("hold");
  StartService();
  const std::string id = Submit(Spec())->job_id();
  WaitForExecutor(id, "trainer.0");
  const std::string queued = Submit(Spec())->job_id();
  EXPECT_EQ(Cancel(queued)->state(), v1::JOB_STATE_CANCELLED);
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job job, Cancel(id));
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(nlohmann::json::parse(ReadRun(job, "summary.json"))["state"],
            "cancelled");
  const v1::ServiceInfo service = Service();
  for (const v1::Executor& executor : service.executors()) {
    EXPECT_NE(executor.state(), "working");
    EXPECT_EQ(executor.job_id(), "");
  }
  FGNN_ASSERT_OK(Cancel(id).status());  // Idempotent.
}

TEST_F(ServiceTest, TheSameKeyNamesTheSameJob) {
  StartService();
  const std::string run = (temp_ / "run").string();
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job first, Submit(Spec(), "key", run));
  Watch(first.job_id());
  EXPECT_EQ(Submit(Spec(), "key", run)->job_id(), first.job_id());
  EXPECT_THAT(Submit(Spec(), "", run),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(run)));
}

TEST_F(ServiceTest, MistakesAreAnsweredAtOnceInOneLine) {
  StartService();
  v1::JobSpec missing = Spec();
  missing.set_dataset((temp_ / "nowhere").string());
  EXPECT_THAT(Submit(missing),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  WriteRing(temp_ / "empty", {.num_train = 0});
  v1::JobSpec empty = Spec();
  empty.set_dataset((temp_ / "empty").string());
  EXPECT_THAT(Submit(empty), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("train.npy")));
  v1::JobSpec layers = Spec();
  layers.mutable_model()->set_layers(3);
  EXPECT_THAT(Submit(layers), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("layers")));
  v1::JobSpec device = Spec();
  device.add_devices("cpu:4000");
  EXPECT_THAT(Submit(device),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4000")));
  v1::JobSpec batch = Spec();
  batch.mutable_sampling()->set_batch_size(0);
  EXPECT_THAT(Submit(batch), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("batch_size")));
  EXPECT_THAT(
      Submit(Spec(), std::string(200, 'k')),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("client_key")));
  EXPECT_EQ(Service().jobs_queued() + Service().jobs_running(), 0U);
}

TEST_F(ServiceTest, ACallWithoutADeadlineIsRefused) {
  StartService();
  grpc::ClientContext context;
  v1::ServiceInfo response;
  EXPECT_EQ(jobs_->GetService(&context, v1::GetServiceRequest(), &response)
                .error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceTest, OneServiceAStateFolder) {
  StartService();
  EXPECT_THAT(SchedulerDaemon::Start(options_, stop_.get()),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr(options_.state_dir.string())));
}

TEST_F(ServiceTest, ADaemonSpeaksForItsOwnProcessAlone) {
  StartService();
  v1::RegisterRequest registration;
  registration.set_name("sampler.7");
  registration.set_pid(::getppid());
  grpc::ClientContext context;
  SetDeadline(context, kLong);
  v1::RegisterResponse registered;
  EXPECT_THAT(FromGrpc(daemons_->Register(&context, registration, &registered)),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr(absl::StrCat("says that it is process ",
                                              ::getppid()))));
  v1::HeartbeatRequest heartbeat;
  heartbeat.set_name("sampler.7");
  heartbeat.set_pid(::getppid());
  grpc::ClientContext again;
  SetDeadline(again, kLong);
  v1::HeartbeatResponse heard;
  EXPECT_THAT(FromGrpc(daemons_->Heartbeat(&again, heartbeat, &heard)),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(ServiceTest, NoClientReachesWhatIsForDaemons) {
  StartService();
  const auto channel = MakeChannel(SchedulerSocketPath(options_.state_dir));
  grpc::ClientContext context;
  SetDeadline(context, kLong);
  v1::RegisterResponse registered;
  EXPECT_THAT(FromGrpc(v1::HostService::NewStub(*channel)->Register(
                  &context, {}, &registered)),
              StatusIs(absl::StatusCode::kUnimplemented));
  for (const fs::path& path : {DaemonsSocketPath(options_.state_dir),
                               HostSocketPath(options_.state_dir)}) {
    EXPECT_EQ(fs::status(path).permissions(),
              fs::perms::owner_read | fs::perms::owner_write)
        << path;
  }
}

TEST_F(ServiceTest, AStrangerIsNoDaemonHere) {
  StartService();
  v1::RegisterRequest request;
  request.set_name("sampler.7");
  request.set_role("sampler");
  request.set_device(FirstCore());
  request.set_pid(::getpid());
  request.set_version("test");
  request.set_segment_layout_version(1);
  grpc::ClientContext context;
  SetDeadline(context, kLong);
  v1::RegisterResponse response;
  EXPECT_EQ(daemons_->Register(&context, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  request.set_version("other");
  grpc::ClientContext again;
  SetDeadline(again, kLong);
  EXPECT_THAT(daemons_->Register(&again, request, &response).error_message(),
              HasSubstr("run one release"));
}

}  // namespace
}  // namespace fgnn
