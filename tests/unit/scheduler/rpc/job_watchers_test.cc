#include "scheduler/rpc/job_watchers.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fgnn/v1/job_service.grpc.pb.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/watch_service.h"
#include "scheduler/store/job_store.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/server.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kLong{30};

class JobWatchersTest : public testing::Test {
 protected:
  struct Watching {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::Job>> reader;
    // The next state; nothing once the stream has ended.
    std::optional<v1::Job> Next() {
      v1::Job job;
      if (!reader->Read(&job)) return std::nullopt;
      return job;
    }
    absl::Status End() {
      while (Next().has_value()) {
      }
      return FromGrpc(reader->Finish());
    }
  };

  void Start(WatchLimits limits = {}) {
    watchers_ = std::make_unique<JobWatchers>(table_.get(), limits);
    server_ =
        RpcServer::StartForUsers(path_, [this](uid_t user,
                                               const ConnectionPeers&) {
          RpcServer::Services services;
          services.others = std::make_unique<WatchService>(
              std::make_shared<OneCaller>(Caller{.uid = user, .name = ""}),
              watchers_.get());
          return services;
        }).value();
    stub_ = v1::JobService::NewStub(*MakeChannel(path_));
  }
  ~JobWatchersTest() override { server_.reset(); }

  std::string Submit() {
    return table_->Submit({.spec = SharedJob()}).value().id;
  }
  std::unique_ptr<Watching> Watch(const std::string& id) {
    auto watching = std::make_unique<Watching>();
    SetDeadline(watching->context, kLong);
    v1::WatchJobRequest request;
    request.set_job_id(id);
    watching->reader = stub_->WatchJob(&watching->context, request);
    return watching;
  }

  TempFolder folder_;
  const std::filesystem::path path_ = folder_ / "s.sock";
  std::unique_ptr<JobTable> table_ =
      JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                     folder_.path())
          .value();
  std::unique_ptr<JobWatchers> watchers_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::JobService::Stub> stub_;
};

TEST_F(JobWatchersTest, FarMoreClientsWatchThanThereAreThreads) {
  Start();
  const std::string id = Submit();
  const std::string other = Submit();
  std::vector<std::unique_ptr<Watching>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(Watch(i % 2 == 0 ? id : other));
    ASSERT_EQ(all.back()->Next()->state(), v1::JOB_STATE_QUEUED);
  }
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("enough")));
  for (size_t i = 0; i < all.size(); i += 2) {
    v1::Job last;
    while (const auto job = all[i]->Next()) last = *job;
    EXPECT_EQ(last.state(), v1::JOB_STATE_CANCELLED);
    EXPECT_THAT(FromGrpc(all[i]->reader->Finish()), IsOk());
  }
  // The other job goes on, and its watchers with it.
  watchers_->EndAll();
  for (size_t i = 1; i < all.size(); i += 2) {
    EXPECT_THAT(all[i]->End(), StatusIs(absl::StatusCode::kUnavailable,
                                        HasSubstr("is ending")));
  }
}

TEST_F(JobWatchersTest, TellsOfAJobThatHasEndedAndOfNoneThatIsNotThere) {
  Start();
  const std::string id = Submit();
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("enough")));
  const auto ended = Watch(id);
  EXPECT_EQ(ended->Next()->state(), v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(ended->End(), IsOk());
  EXPECT_THAT(Watch("none")->End(), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(JobWatchersTest, AClientThatLeavesMakesRoomForAnother) {
  Start({.per_user = 2, .in_all = 10});
  const std::string id = Submit();
  auto first = Watch(id);
  const auto second = Watch(id);
  ASSERT_TRUE(first->Next().has_value());
  ASSERT_TRUE(second->Next().has_value());
  EXPECT_THAT(Watch(id)->End(), StatusIs(absl::StatusCode::kResourceExhausted,
                                         HasSubstr("at most 2")));
  first->context.TryCancel();
  EXPECT_THAT(first->End(), StatusIs(absl::StatusCode::kCancelled));
  // The server hears of it a moment later.
  const Deadline deadline = DeadlineIn(kLong);
  std::unique_ptr<Watching> third;
  do {
    third = Watch(id);
  } while (!third->Next().has_value() && MonotonicClock::now() < deadline);
  EXPECT_LT(MonotonicClock::now(), deadline);
}

}  // namespace
}  // namespace fgnn
