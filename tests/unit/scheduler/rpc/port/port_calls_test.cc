// What calls of the port may take, and when they are refused.
#include <algorithm>
#include <memory>
#include <vector>

#include "scheduler/rpc/port/call_counts.h"
#include "tests/fakes/default_job.h"
#include "tests/unit/scheduler/rpc/port/port_server_fixture.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

constexpr char kGet[] = "/fgnn.v1.JobService/GetJob";
constexpr char kWatch[] = "/fgnn.v1.JobService/WatchJob";
constexpr int kCallsOfConnection = 64;

class PortCallsTest : public PortServerTest {
 protected:
  // Makes so many calls, which send their headers alone.
  std::vector<std::unique_ptr<HalfCall>> Begin(const std::string& method,
                                               int count) {
    std::vector<std::unique_ptr<HalfCall>> calls;
    std::shared_ptr<grpc::Channel> channel;
    for (int i = 0; i < count; ++i) {
      if (i % kCallsOfConnection == 0) channel = Channel(Mine());
      calls.push_back(std::make_unique<HalfCall>(channel, method));
    }
    return calls;
  }
  static size_t NumEnded(const std::vector<std::unique_ptr<HalfCall>>& calls) {
    return static_cast<size_t>(
        std::count_if(calls.begin(), calls.end(),
                      [](const auto& call) { return call->HasEnded(); }));
  }
  static void End(const std::vector<std::unique_ptr<HalfCall>>& calls) {
    for (const auto& call : calls) call->Cancel();
    for (const auto& call : calls) (void)call->End();
  }
  // Returns the folder of another user of this machine.
  std::filesystem::path Other() {
    Make("user daemon --role submit" + OutTo("other"));
    return temp_ / "other";
  }
};

TEST_F(PortCallsTest, AStrangerIsRefusedBeforeARequestComes) {
  Make(absl::StrCat("token ", user_, " --role submit", OutTo("token")));
  Start();
  uint64_t refused = 0;
  for (const char* method :
       {kGet, kWatch, "/fgnn.v1.JobService/Shutdown",
        "/fgnn.v1.JobService/Nothing", "/fgnn.v1.HostService/Register"}) {
    HalfCall call(ChannelOfNobody(), method);
    EXPECT_THAT(call.End(), StatusIs(StatusCode::kUnauthenticated)) << method;
    EXPECT_EQ(refusals_.of(RefusalReason::kNoCredentials), ++refused);
  }
}

TEST_F(PortCallsTest, AMethodThatThePortDoesNotHaveIsRefusedAndCounted) {
  Start();
  uint64_t refused = 0;
  for (const char* method :
       {"/fgnn.v1.JobService/Nothing", "/fgnn.v1.HostService/Register"}) {
    HalfCall call(Channel(Mine()), method);
    EXPECT_THAT(call.End(), StatusIs(StatusCode::kPermissionDenied,
                                     HasSubstr("may not call")));
    EXPECT_EQ(refusals_.of(RefusalReason::kRole), ++refused);
  }
}

TEST_F(PortCallsTest, CallsThatHangTakeNoThreadOfAnotherUser) {
  const auto other = Other();
  Start();
  constexpr int kBeyond = 6;
  const auto calls = Begin(kGet, CallCounts::kMostThreadsOfUser + kBeyond);
  WaitFor([&] { return NumEnded(calls) == kBeyond; });
  EXPECT_EQ(refusals_.of(RefusalReason::kTooManyCalls), kBeyond);
  EXPECT_THAT(Ask(Mine()), StatusIs(StatusCode::kResourceExhausted,
                                    HasSubstr("calls at work")));
  EXPECT_THAT(Ask(other), IsOk());
  // Streams need no thread.
  HalfCall stream(Channel(Mine()), kWatch);
  EXPECT_THAT(Ask(other), IsOk());
  EXPECT_FALSE(stream.HasEnded());
  stream.Cancel();
  (void)stream.End();
  End(calls);
  WaitFor([&] { return Ask(Mine()).ok(); });
}

TEST_F(PortCallsTest, StreamsOfOneUserLeaveRoomForAnother) {
  Start();
  const auto other = Stub(Other());
  const auto mine = Stub(Mine());
  const auto calls = Begin(kWatch, CallCounts::kMostCallsOfUser);
  WaitFor([&] { return !Ask(*mine).ok(); });
  EXPECT_THAT(Ask(*other), IsOk());
  EXPECT_THAT(Ask(*mine), StatusIs(StatusCode::kResourceExhausted,
                                   HasSubstr("has 256 calls")));
  EXPECT_EQ(NumEnded(calls), 0U);
  // A stream that its client leaves makes room for another call.
  calls.front()->Cancel();
  WaitFor([&] { return Ask(*mine).ok(); });
  End(calls);
}

TEST_F(PortCallsTest, AJobIsWatchedToItsEnd) {
  const std::string id = table_->Submit({.spec = SharedJob()}).value().id;
  Start();
  const auto stub = Stub(Mine());
  LongContext context;
  v1::WatchJobRequest request;
  request.set_job_id(id);
  const auto stream = stub->WatchJob(&context, request);
  v1::Job job;
  ASSERT_TRUE(stream->Read(&job));
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  FGNN_ASSERT_OK(table_->Cancel(id, absl::CancelledError("enough")));
  while (stream->Read(&job)) {
  }
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(FromGrpc(stream->Finish()), IsOk());
}

}  // namespace
}  // namespace fgnn
