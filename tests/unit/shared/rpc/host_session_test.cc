#include "shared/rpc/host_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "absl/base/thread_annotations.h"
#include "shared/base/clock.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/sockets/descriptors.h"
#include "shared/telemetry/process.h"
#include "tests/fakes/fake_host_service.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

Deadline SessionDeadline() { return DeadlineIn(std::chrono::seconds(30)); }

class HostSessionTest : public testing::Test {
 protected:
  HostSessionTest() {
    options_.state_dir = folder_.path();
    options_.name = "sampler.0";
    options_.role = "sampler";
    options_.device = "cpu:0";
    options_.version = "0.1.0";
    options_.segment_layout_version = 7;
  }

  std::unique_ptr<RpcServer> Serve(FakeHostService* service) {
    auto server =
        RpcServer::Start(DaemonsSocketPath(folder_.path()), {service});
    EXPECT_THAT(server, IsOk());
    return *std::move(server);
  }

  absl::StatusOr<std::unique_ptr<HostSession>> Start(
      Deadline deadline = SessionDeadline()) {
    return HostSession::Start(
        options_,
        {[this] {
           const std::lock_guard<std::mutex> lock(mutex_);
           ++reports_;
           if (works_) ++batches_;
           reported_.notify_all();
           return WorkReport{progress_.load(), batches_.load(), working_.load(),
                             evaluated_permille_.load()};
         },
         [this](uint64_t generation) { return Standing(generation); },
         [this] {
           ++times_orphaned_;
           orphaned_.Notify();
         },
         [this] { return is_ending_.load(); }},
        deadline);
  }

  absl::StatusOr<std::optional<JobStanding>> Standing(uint64_t generation) {
    if (busy_ > 0) {
      --busy_;
      return absl::UnavailableError("being attached");
    }
    succeeded_ = generation;
    if (!attached_) return std::nullopt;
    return JobStanding{"job-1", OwnerIndex{5}, 2, Duplicate(STDIN_FILENO),
                       Duplicate(STDIN_FILENO)};
  }

  // Waits until the session has asked `count` more times how work goes.
  bool WaitForReports(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int wanted = reports_ + count;
    return reported_.wait_until(lock, DeadlineIn(std::chrono::seconds(30)),
                                [&] { return reports_ >= wanted; });
  }

  bool WaitForOrphaned() {
    return orphaned_.WaitUntil(DeadlineIn(std::chrono::seconds(30)));
  }

  TempFolder folder_;
  HostSessionOptions options_;
  std::atomic<uint64_t> progress_{0};
  std::atomic<uint64_t> batches_{0};
  std::atomic<bool> working_{false};
  std::atomic<std::optional<uint32_t>> evaluated_permille_;
  std::atomic<bool> works_{false};  // Finishes a batch between any two reports.
  std::atomic<int> times_orphaned_{0};
  std::atomic<bool> is_ending_{false};
  std::atomic<bool> attached_{false};
  std::atomic<int> busy_{0};
  std::atomic<uint64_t> succeeded_{0};
  Notification orphaned_;
  std::mutex mutex_;
  std::condition_variable reported_;
  int reports_ = 0;  // Guarded by mutex_.
};

TEST_F(HostSessionTest, SaysWhoItIs) {
  FakeHostService service(/*generation=*/4);
  const auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  EXPECT_EQ(session->scheduler_generation(), 4U);
  ASSERT_EQ(service.registrations().size(), 1U);
  const v1::RegisterRequest request = service.registrations().front();
  EXPECT_EQ(request.name(), "sampler.0");
  EXPECT_EQ(request.role(), "sampler");
  EXPECT_EQ(request.device(), "cpu:0");
  EXPECT_EQ(request.pid(), ::getpid());
  EXPECT_EQ(request.start_time(), *ReadProcessStartTime(::getpid()));
  EXPECT_EQ(request.socket_path(),
            (folder_ / "executors/sampler.0.sock").string());
  EXPECT_EQ(request.version(), "0.1.0");
  EXPECT_EQ(request.segment_layout_version(), 7U);
}

TEST_F(HostSessionTest, GivesUpARegistrationWhereTheDaemonIsToEnd) {
  is_ending_ = true;
  EXPECT_THAT(Start(DeadlineIn(std::chrono::minutes(10))),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(HostSessionTest, WaitsForASchedulerThatStartsLater) {
  FakeHostService service(/*generation=*/1);
  std::unique_ptr<RpcServer> server;
  // Registration begins before there is a socket: the service starts only
  // once the session's thread runs.
  Notification begun;
  Thread starter("starter", [&] {
    EXPECT_TRUE(begun.WaitUntil(DeadlineIn(std::chrono::seconds(30))));
    server = Serve(&service);
  });
  begun.Notify();
  EXPECT_THAT(Start(), IsOk());
}

TEST_F(HostSessionTest, GivesUpAtTheDeadlineAndNamesTheSocket) {
  EXPECT_THAT(
      Start(DeadlineIn(milliseconds(100))),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("daemons.sock")));
}

TEST_F(HostSessionTest, DoesNotInsistWhereItIsRefused) {
  FakeHostService service(/*generation=*/1);
  service.AnswerRegister(
      absl::FailedPreconditionError("version 0.2.0 runs here"));
  const auto server = Serve(&service);
  EXPECT_THAT(Start(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("version 0.2.0 runs here")));
  EXPECT_EQ(service.registrations().size(), 1U);
}

TEST_F(HostSessionTest, HeartbeatsTellHowWorkGoes) {
  FakeHostService service(/*generation=*/1);
  const auto server = Serve(&service);
  progress_ = 3;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  EXPECT_TRUE(service.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.name() == "sampler.0" && beat.pid() == ::getpid() &&
           beat.progress() == 3 && beat.state() == "idle" &&
           beat.error_code() == 0 && !beat.has_evaluated_permille();
  }));
  progress_ = 9;
  batches_ = 5;
  evaluated_permille_ = 0;
  working_ = true;
  EXPECT_TRUE(service.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.progress() == 9 && beat.batches() == 5 &&
           beat.has_evaluated_permille() && beat.evaluated_permille() == 0 &&
           beat.state() == "working";
  }));
}

TEST_F(HostSessionTest, RegistersAgainWithASchedulerThatForgotIt) {
  FakeHostService service(/*generation=*/1);
  const auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  service.Forget();
  EXPECT_TRUE(service.WaitForRegistrations(2));
}

TEST_F(HostSessionTest, OutlivesARestartOfTheScheduler) {
  FakeHostService before(/*generation=*/1);
  auto server = Serve(&before);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  server.reset();
  FakeHostService after(/*generation=*/2);
  server = Serve(&after);
  ASSERT_TRUE(after.WaitForRegistrations(1));
  // A beat after the registration: by then the session has read the answer.
  const size_t heard = after.heartbeats().size();
  EXPECT_TRUE(after.WaitForHeartbeat([&](const v1::HeartbeatRequest&) {
    return session->scheduler_generation() == 2;
  }));
  EXPECT_GE(after.heartbeats().size(), heard);
  EXPECT_EQ(times_orphaned_, 0);
}

TEST_F(HostSessionTest, ARestartedSchedulerGetsTheSegmentBeforeTheDaemon) {
  FakeHostService before(/*generation=*/4);
  auto server = Serve(&before);
  attached_ = true;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  EXPECT_EQ(before.registrations().front().job_id(), "");
  server.reset();
  std::atomic<int> returned{0};
  std::atomic<int> registered_before{0};
  FakeHostService after(/*generation=*/5);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto descriptors,
      DescriptorServer::Start(
          HostSocketPath(folder_.path()),
          {.give = nullptr,
           .take_back =
               [&](const std::string& job_id, const UniqueFd& fd) {
                 registered_before +=
                     static_cast<int>(after.registrations().size());
                 returned += job_id == "job-1" && fd.valid() ? 1 : 0;
                 return absl::OkStatus();
               },
           .take_table =
               [&](const std::string& job_id, const UniqueFd& fd) {
                 registered_before +=
                     static_cast<int>(after.registrations().size());
                 returned += job_id == "job-1" && fd.valid() ? 10 : 0;
                 return absl::OkStatus();
               }}));
  busy_ = 2;  // It cannot say yet what it is attached to.
  server = Serve(&after);
  ASSERT_TRUE(after.WaitForRegistrations(1));
  EXPECT_EQ(returned, 11);  // With the table.
  EXPECT_EQ(registered_before, 0);
  EXPECT_EQ(busy_, 0);
  EXPECT_EQ(succeeded_, 4U);
  EXPECT_EQ(after.registrations().front().job_id(), "job-1");
  EXPECT_EQ(after.registrations().front().owner(), 5U);
  EXPECT_EQ(after.registrations().front().number(), 2U);
}

TEST_F(HostSessionTest, AFailureIsSaidAtOnceAndUntilItIsCleared) {
  // Without the wake-up the next beat would come later than the fake waits.
  FakeHostService service(/*generation=*/1, /*interval_ms=*/60'000);
  const auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  session->ReportFailure("job-1", absl::DataLossError("torn task"));
  session->ReportFailure("job-1", absl::InternalError("a consequence"));
  EXPECT_TRUE(service.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.job_id() == "job-1" &&
           beat.error_code() == static_cast<int>(absl::StatusCode::kDataLoss) &&
           beat.error_message() == "torn task";
  }));
  session->ReportFailure("job-2", absl::NotFoundError("no dataset"));
  EXPECT_TRUE(service.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.job_id() == "job-2" && beat.error_message() == "no dataset";
  }));
}

TEST_F(HostSessionTest, AFailureOfAnyBytesArrives) {
  FakeHostService service(/*generation=*/1);
  const auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  session->ReportFailure("job-1", absl::InternalError("plugin: \xff"));
  EXPECT_TRUE(service.WaitForHeartbeat([](const v1::HeartbeatRequest& beat) {
    return beat.job_id() == "job-1" && beat.error_code() != 0;
  }));
}

TEST_F(HostSessionTest, AClearedFailureIsNotSaidAgain) {
  FakeHostService service(/*generation=*/1);
  const auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  session->ReportFailure("job-1", absl::DataLossError("torn task"));
  ASSERT_TRUE(service.WaitForHeartbeat(
      [](const v1::HeartbeatRequest& beat) { return beat.error_code() != 0; }));
  session->ClearFailure();
  EXPECT_TRUE(service.WaitForHeartbeat(
      [](const v1::HeartbeatRequest& beat) { return beat.error_code() == 0; }));
}

TEST_F(HostSessionTest, AnIdleDaemonWithoutASchedulerIsOrphanedOnce) {
  options_.orphaned_after = milliseconds(0);
  FakeHostService service(/*generation=*/1);
  auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(auto session, Start());
  server.reset();
  EXPECT_TRUE(WaitForOrphaned());
  session.reset();
  EXPECT_EQ(times_orphaned_, 1);
}

TEST_F(HostSessionTest, ADaemonGoesOnWithoutASchedulerWhileItHasWork) {
  options_.orphaned_after = milliseconds(0);
  works_ = true;
  FakeHostService service(/*generation=*/1);
  auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  server.reset();
  ASSERT_TRUE(WaitForReports(4));  // So two rounds at least went unheard.
  EXPECT_EQ(times_orphaned_, 0);
  works_ = false;
  EXPECT_TRUE(WaitForOrphaned());
}

TEST_F(HostSessionTest, ADaemonIsOrphanedOnceItsStateFolderIsGone) {
  working_ = true;
  works_ = true;
  FakeHostService service(/*generation=*/1);
  auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  server.reset();
  ASSERT_TRUE(WaitForReports(4));
  EXPECT_EQ(times_orphaned_, 0);
  std::filesystem::remove_all(folder_.path());
  EXPECT_TRUE(WaitForOrphaned());
}

TEST_F(HostSessionTest, ADaemonThatANewSchedulerRefusesIsOrphaned) {
  FakeHostService service(/*generation=*/1);
  const auto server = Serve(&service);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  service.AnswerRegister(absl::FailedPreconditionError("another version"));
  service.Forget();
  EXPECT_TRUE(WaitForOrphaned());
}

TEST_F(HostSessionTest, EndsAtOnceWhileASchedulerHangs) {
  options_.call_timeout = std::chrono::seconds(60);
  FakeHostService service(/*generation=*/1);
  const auto server = Serve(&service);
  service.Hang(true);
  FGNN_ASSERT_OK_AND_ASSIGN(auto session, Start());
  ASSERT_TRUE(service.WaitForHeartbeat(
      [](const v1::HeartbeatRequest&) { return true; }));
  const Stopwatch stopwatch;
  session.reset();  // Its call is cancelled, not waited for.
  EXPECT_LT(stopwatch.Seconds(), 30);
  service.Hang(false);
}

TEST_F(HostSessionTest, AsksForSegmentsOnTheHostSocket) {
  FakeHostService service(/*generation=*/1);
  const auto server = Serve(&service);
  const UniqueFd pipe_end(::dup(STDIN_FILENO));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto descriptors,
      DescriptorServer::Start(
          HostSocketPath(folder_.path()),
          {.give = [&](pid_t,
                       const std::string& job_id) -> absl::StatusOr<int> {
            if (job_id == "job-1") return pipe_end.get();
            return absl::NotFoundError("none");
          }}));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto session, Start());
  EXPECT_THAT(session->RequestSegment("job-1", SessionDeadline()), IsOk());
  EXPECT_THAT(session->RequestSegment("job-2", SessionDeadline()),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace fgnn
