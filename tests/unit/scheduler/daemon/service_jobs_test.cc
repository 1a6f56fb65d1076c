// Users, pauses and lists of jobs, as clients ask for them.
#include "shared/base/user_name.h"
#include "tests/unit/scheduler/daemon/service_fixture.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ServiceJobsTest : public ServiceTest {
 protected:
  absl::StatusOr<v1::Job> Pause(const std::string& id) {
    v1::PauseJobRequest request;
    request.set_job_id(id);
    return Call(&v1::JobService::Stub::PauseJob, request);
  }
  absl::StatusOr<v1::Job> Continue(const std::string& id) {
    v1::ContinueJobRequest request;
    request.set_job_id(id);
    return Call(&v1::JobService::Stub::ContinueJob, request);
  }
  absl::StatusOr<v1::SubmitJobResponse> SubmitMore(
      v1::SubmitJobRequest request) {
    *request.mutable_spec() = Spec();
    return Call(&v1::JobService::Stub::SubmitJob, request);
  }
  absl::StatusOr<std::vector<std::string>> List(
      const v1::ListJobsRequest& request) {
    const auto response = Call(&v1::JobService::Stub::ListJobs, request);
    if (!response.ok()) return response.status();
    std::vector<std::string> ids;
    for (const v1::Job& job : response->jobs()) ids.push_back(job.job_id());
    return ids;
  }
};

TEST_F(ServiceJobsTest, AJobIsItsUsersToChange) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  Order("hold");
  StartService();
  BecomeUser(kSomeUser);
  const std::string owner = UserName(kSomeUser);
  const std::string id = Submit(Spec())->job_id();
  EXPECT_EQ(Get(id)->user(), owner);
  BecomeUser(kOtherUser);
  EXPECT_EQ(Get(id)->user(), owner);
  for (const auto& answer : {Pause(id), Continue(id), Cancel(id)}) {
    EXPECT_THAT(answer, StatusIs(absl::StatusCode::kPermissionDenied,
                                 AllOf(HasSubstr(id), HasSubstr(owner))));
  }
  BecomeUser(kSomeUser);
  EXPECT_EQ(Pause(id)->state(), v1::JOB_STATE_PAUSED);
  BecomeUser(0);
  EXPECT_EQ(Cancel(id)->state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(ServiceJobsTest, AUsersRunIsMadeAndRemovedByTheUsersRights) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  StartService();
  BecomeUser(kSomeUser);
  const fs::path home = temp_ / "home";
  fs::create_directories(home / "results");
  ASSERT_EQ(::chown(home.c_str(), kOtherUser, kOtherUser), 0);
  ASSERT_EQ(::chown((home / "results").c_str(), kOtherUser, kOtherUser), 0);
  const auto refused = [](const std::string& words) {
    return StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(words));
  };
  EXPECT_THAT(Submit(Spec(), "", home / "results"),
              refused("belongs to uid 3000002"));
  EXPECT_THAT(Submit(Spec(), "", home / "new"), refused("may not write in"));
  fs::permissions(home, fs::perms(0700));
  for (const char* name : {"results", "new", "results/in"}) {
    EXPECT_THAT(Submit(Spec(), "", home / name),
                refused("may not enter " + home.string()));
  }
  EXPECT_TRUE(fs::is_empty(home / "results"));
  // A run of the user, in whose folder another user's file lies by then.
  fs::permissions(home, fs::perms(0777));
  const std::string id = Submit(Spec(), "", home / "new")->job_id();
  EXPECT_EQ(Watch(id).state(), v1::JOB_STATE_COMPLETED);
  std::ofstream(home / "new/notes.txt") << "not the run's";
  v1::DeleteJobRequest request;
  request.set_job_id(id);
  fs::permissions(home, fs::perms(0700));
  const auto closed = Call(&v1::JobService::Stub::DeleteJob, request);
  FGNN_ASSERT_OK(closed.status());
  EXPECT_FALSE(closed->folder_deleted());
  EXPECT_THAT(closed->left(), HasSubstr("may not enter"));
  EXPECT_TRUE(fs::exists(home / "new/metrics.jsonl"));
}

TEST_F(ServiceJobsTest, NobodyCallsInAnothersName) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  Order("hold");
  StartService();
  const std::string id = Submit(Spec())->job_id();
  BecomeUser(kOtherUser);
  grpc::ClientContext context;
  SetDeadline(context, kLong);
  context.AddMetadata("fgnn-user", "root");
  v1::CancelJobRequest request;
  request.set_job_id(id);
  v1::Job job;
  EXPECT_THAT(FromGrpc(jobs_->CancelJob(&context, request, &job)),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr(UserName(kOtherUser))));
}

TEST_F(ServiceJobsTest, OnlyItsUserEndsAServiceWithJobsOfOthers) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  Order("hold");
  StartService();
  BecomeUser(kSomeUser);
  const std::string id = Submit(Spec())->job_id();
  BecomeUser(kOtherUser);
  const auto shut_down = [this] {
    return Call(&v1::JobService::Stub::Shutdown, v1::ShutdownRequest())
        .status();
  };
  EXPECT_THAT(shut_down(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr(id), HasSubstr(UserName(kSomeUser)))));
  EXPECT_FALSE(ended_);
  BecomeUser(kSomeUser);
  EXPECT_THAT(shut_down(), IsOk());
  thread_.Join();
  EXPECT_TRUE(ended_);
}

TEST_F(ServiceJobsTest, PauseReturnsOnceNothingIsAtWork) {
  Order("hold");
  StartService();
  const std::string id = Submit(Spec())->job_id();
  WaitForExecutor(id, "trainer.0");
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job paused, Pause(id));
  EXPECT_EQ(paused.state(), v1::JOB_STATE_PAUSED);
  EXPECT_GT(paused.run_seconds(), 0);
  const v1::ServiceInfo service = Service();
  EXPECT_EQ(service.jobs_paused(), 1U);
  EXPECT_EQ(service.jobs_running() + service.jobs_queued(), 0U);
  for (const v1::Executor& executor : service.executors()) {
    EXPECT_EQ(executor.job_id(), "");
  }
  EXPECT_EQ(Pause(id)->state(), v1::JOB_STATE_PAUSED);
  StopService();
  Order("");
  StartService();  // It is paused until somebody continues it.
  EXPECT_EQ(Get(id)->state(), v1::JOB_STATE_PAUSED);
  FGNN_ASSERT_OK(Continue(id).status());
  const v1::Job job = Watch(id);
  ASSERT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  EXPECT_EQ(ReadRun(job, "checkpoints/epoch-0003.safetensors"), "60");
  for (const auto& answer : {Pause(id), Continue(id), Cancel(id)}) {
    EXPECT_THAT(answer, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("has already completed")));
  }
  for (const auto& answer : {Pause("none"), Continue("none")}) {
    EXPECT_THAT(answer, StatusIs(absl::StatusCode::kNotFound));
  }
}

TEST_F(ServiceJobsTest, AnAttachThatHangsIsNoReasonToKeepTheDevices) {
  Order("mute");  // It stays PREPARING.
  StartService();
  const std::string id = Submit(Spec())->job_id();
  Watch(id, [](const v1::Job& job) {
    return job.state() == v1::JOB_STATE_PREPARING;
  });
  EXPECT_EQ(Pause(id)->state(), v1::JOB_STATE_PAUSED);
}

TEST_F(ServiceJobsTest, ListsJobsByWhatIsAskedFor) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  Order("hold");
  StartService();
  v1::SubmitJobRequest request;
  request.set_name("Baseline");
  request.set_priority(7);
  BecomeUser(kSomeUser);
  const auto submitted = SubmitMore(request);
  FGNN_ASSERT_OK(submitted.status());
  const std::string first = submitted->job().job_id();
  BecomeUser(kOtherUser);
  const auto submitted_next = SubmitMore({});
  FGNN_ASSERT_OK(submitted_next.status());
  const std::string second = submitted_next->job().job_id();
  const v1::Job running = WaitForExecutor(first, "trainer.0");
  ASSERT_EQ(running.state(), v1::JOB_STATE_RUNNING) << running.error_message();
  ASSERT_NE(PidOf(running, "trainer.0"), 0) << running.ShortDebugString();
  v1::ListJobsRequest list;
  list.set_user(UserName(kSomeUser));
  EXPECT_THAT(List(list).value(), ElementsAre(first));
  list.Clear();
  list.add_states(v1::JOB_STATE_QUEUED);
  list.add_states(v1::JOB_STATE_PAUSED);
  EXPECT_THAT(List(list).value(), ElementsAre(second));
  list.Clear();
  list.set_search("baseLINE");
  EXPECT_THAT(List(list).value(), ElementsAre(first));
  list.set_search((temp_ / "ring").string());
  EXPECT_THAT(List(list).value(), ElementsAre(second, first));
  list.Clear();
  list.set_limit(1);
  EXPECT_THAT(List(list).value(), ElementsAre(second));
  list.set_before_job_id(second);
  EXPECT_THAT(List(list).value(), ElementsAre(first));
  list.set_before_job_id(first);
  EXPECT_THAT(List(list).value(), IsEmpty());
  list.Clear();
  list.set_limit(1001);
  EXPECT_THAT(List(list),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1001")));
  list.Clear();
  list.add_states(static_cast<v1::JobState>(99));
  EXPECT_THAT(List(list),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("99")));
  EXPECT_EQ(Get(second)->waiting_for(),
            absl::StrCat("next; waits for ", FirstCore(), ", which job ", first,
                         " has"));
}

TEST_F(ServiceJobsTest, WhatCannotBeIsRefusedByName) {
  StartService();
  const auto expect_refused = [this](const v1::SubmitJobRequest& request,
                                     const std::string& word) {
    EXPECT_THAT(SubmitMore(request).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(word)));
  };
  v1::SubmitJobRequest request;
  request.set_priority(101);
  expect_refused(request, "priority");
  request.Clear();
  request.set_retries(101);
  expect_refused(request, "retries");
  request.Clear();
  request.set_name("two\nlines");
  expect_refused(request, "name");
  request.Clear();
  for (int i = 0; i < 101; ++i) request.add_after("x");
  expect_refused(request, "after");
  request.Clear();
  request.add_after("nowhere");
  EXPECT_THAT(SubmitMore(request).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  EXPECT_EQ(Service().jobs_queued() + Service().jobs_running(), 0U);
}

TEST_F(ServiceJobsTest, TellsTheMetricsOfARun) {
  StartService();
  const std::string id = Submit(Spec())->job_id();
  ASSERT_EQ(Watch(id).state(), v1::JOB_STATE_COMPLETED);
  v1::GetMetricsRequest request;
  request.set_job_id(id);
  request.set_after_epoch(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::GetMetricsResponse metrics,
                            Call(&v1::JobService::Stub::GetMetrics, request));
  ASSERT_EQ(metrics.lines_size(), 2);
  EXPECT_EQ(nlohmann::json::parse(metrics.lines(1))["epoch"], 3);
  request.set_after_epoch(3);
  EXPECT_EQ(Call(&v1::JobService::Stub::GetMetrics, request)->lines_size(), 0);
}

}  // namespace
}  // namespace fgnn
