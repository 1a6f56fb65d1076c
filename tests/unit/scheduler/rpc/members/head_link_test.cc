// A member's link to a head's port, with real certificates and the gate.
#include "scheduler/rpc/members/head_link.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "scheduler/members/member_table.h"
#include "scheduler/rpc/members/held_links.h"
#include "scheduler/rpc/members/member_service.h"
#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/rpc/port/port_server_fixture.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class HeadLinkTest : public PortServerTest {
 protected:
  void SetUp() override {
    PortServerTest::SetUp();
    Make("host host1 127.0.0.1" + OutTo("host1"));
    StartHead();
  }
  ~HeadLinkTest() override { server_.reset(); }

  void StartHead() {
    auto started = PortServer::Start(
        {.address = {.host = "127.0.0.1", .port = 0},
         .tls_dir = temp_ / "tls",
         .tokens = temp_ / "tls" / "tokens"},
        [this](const std::shared_ptr<Callers>& callers) {
          Services made;
          made.services.push_back(std::make_unique<MemberServiceAdapter>(
              callers, &members_, temp_.path()));
          made.others =
              std::make_unique<WatchService>(callers, watchers_.get(), &links_);
          return made;
        },
        &refusals_, Gate());
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
  }

  HeadCall Link(const char* files = "host1") const {
    return MakeHeadLink(server_->address(), temp_ / files).value();
  }
  static MemberReport Report() {
    return {.facts = {.name = "host1",
                      .exchange = "host1:7071",
                      .version = "1.0",
                      .devices = Devs({"cpu:0"}),
                      .generation = 1}};
  }
  void WaitUntilHeld(size_t calls = 1) const {
    WaitFor([&] { return links_.num_held() == calls; });
  }
  bool IsLost() const { return members_.Views().front().is_lost; }

  // The head's clock, which stands unless a test turns it.
  std::atomic<milliseconds> passed_{milliseconds(0)};
  MemberTable members_{
      {.head = {.name = "head", .exchange = "", .version = "1.0"},
       .lost_after = seconds(5),
       .clock = [this, begin = MonotonicClock::now()] {
         return begin + passed_.load();
       }}};
  HeldLinks links_{&members_};
};

TEST_F(HeadLinkTest, AMemberThatEndsBetweenTwoReportsIsLostWithinASecond) {
  auto link = std::make_unique<HeadCall>(Link());
  FGNN_ASSERT_OK((*link)(Report()).status());
  // A member that is silent for as long, and lives, is not lost.
  WaitUntilHeld();
  passed_ = milliseconds(900);
  ASSERT_FALSE(IsLost());
  FGNN_ASSERT_OK((*link)(Report()).status());
  link.reset();
  WaitUntilHeld(0);
  EXPECT_FALSE(IsLost());
  passed_ = milliseconds(1'800);
  EXPECT_TRUE(IsLost());
}

TEST_F(HeadLinkTest, AMemberThatReportsAgainAfterABreakIsNotLost) {
  {
    const HeadCall link = Link();
    FGNN_ASSERT_OK(link(Report()).status());
    WaitUntilHeld();
  }
  WaitUntilHeld(0);
  passed_ = milliseconds(900);
  EXPECT_TRUE(IsLost());
  const HeadCall link = Link();
  FGNN_ASSERT_OK(link(Report()).status());
  EXPECT_FALSE(IsLost());
}

TEST_F(HeadLinkTest, AServiceThatEndsHoldsNoCall) {
  const HeadCall link = Link();
  FGNN_ASSERT_OK(link(Report()).status());
  WaitUntilHeld();
  links_.EndAll();
  // Would take the whole grace if a call were held.
  const Stopwatch watch;
  server_->Shutdown(LongContext::kLong);
  EXPECT_LT(watch.Seconds(), seconds(LongContext::kLong).count() / 2.0);
}

TEST_F(HeadLinkTest, OnlyAMemberMayHaveACallHeld) {
  LongContext context;
  v1::HoldLinkResponse response;
  EXPECT_THAT(FromGrpc(v1::MemberService::NewStub(Channel(temp_ / "mine"))
                           ->HoldLink(&context, {}, &response)),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace fgnn
