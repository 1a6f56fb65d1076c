#include "scheduler/gate/gated_connection.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/scheduler/gate/frames.h"

namespace fgnn {
namespace {

const std::string kCall =
    "\x83\x86\x84\x41\x01"
    "b";

// A connection in the clear between two pairs of sockets.
class GatedConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto client = Pair();
    auto server = Pair();
    client_ = std::move(client.second);
    server_ = std::move(server.second);
    auto taken = GatedConnection::Take({.key = "uid:1",
                                        .client = std::move(client.first),
                                        .server = std::move(server.first)},
                                       /*tls=*/nullptr, start_);
    ASSERT_TRUE(taken.ok());
    connection_ = *std::move(taken);
  }

  static std::pair<UniqueFd, UniqueFd> Pair() {
    std::array<int, 2> ends = {};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           0, ends.data()),
              0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
  // Lets the connection read all of it.
  void Say(const std::string& bytes) {
    ASSERT_EQ(::send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    for (size_t i = 0; i <= bytes.size() / GatedConnection::kTurnBytes; ++i) {
      connection_->Turn(/*client_has_bytes=*/true, false, start_);
    }
  }
  void Close() {
    client_.Reset();
    connection_->Turn(/*client_has_bytes=*/true, false, start_);
    EXPECT_TRUE(connection_->is_over());
  }

  const Deadline start_ = MonotonicClock::now();
  UniqueFd client_;
  UniqueFd server_;
  std::unique_ptr<GatedConnection> connection_;
};

TEST_F(GatedConnectionTest, OneWithoutACallIsAMark) {
  Say(kGreeting + Frame(4, 0, 0, ""));
  Close();
  EXPECT_EQ(connection_->TakeMarks(), 1U);
}

TEST_F(GatedConnectionTest, OneWithoutAByteIsNone) {
  Close();
  EXPECT_EQ(connection_->TakeMarks(), 0U);
}

TEST_F(GatedConnectionTest, EachCallThatIsLeftOpenIsAMark) {
  Say(kGreeting + Frame(4, 0, 0, "") + Frame(1, 5, 1, kCall) +
      Frame(1, 5, 3, kCall));
  Close();
  EXPECT_EQ(connection_->TakeMarks(), 2U);
}

TEST_F(GatedConnectionTest, TheRestOfAFrameIsWaitedForTenSeconds) {
  Say(kGreeting + Frame(4, 0, 0, "") + Frame(1, 4, 1, kCall) +
      Frame(0, 0, 1, "some of it").substr(0, 12));
  connection_->LookAtTime(start_ + std::chrono::seconds(9));
  EXPECT_TRUE(connection_->client_events() & EPOLLIN);
  EXPECT_EQ(connection_->TakeMarks(), 0U);
  connection_->LookAtTime(start_ + std::chrono::seconds(11));
  EXPECT_GE(connection_->TakeMarks(), 1U);
}

TEST_F(GatedConnectionTest, AClientDoesNotPayForTheWaitOfTheServer) {
  constexpr int kLittle = 1;  // The kernel takes its least.
  ::setsockopt(connection_->server_fd(), SOL_SOCKET, SO_SNDBUF, &kLittle,
               sizeof(kLittle));
  Say(kGreeting + Frame(4, 0, 0, "") + Frame(1, 4, 1, kCall));
  // A turn reads the first frame and a part of the second.
  const std::string frame = Frame(0, 0, 1, std::string(16'000, 'a'));
  Say(frame + frame + frame);
  ASSERT_FALSE(connection_->client_events() & EPOLLIN);
  connection_->LookAtTime(start_ + std::chrono::seconds(11));
  EXPECT_FALSE(connection_->is_over());
  EXPECT_EQ(connection_->TakeMarks(), 0U);
}

}  // namespace
}  // namespace fgnn
