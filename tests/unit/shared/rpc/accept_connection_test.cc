#include "shared/rpc/sockets/accept_connection.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <memory>
#include <utility>
#include <vector>

#include "shared/base/threads/notification.h"
#include "shared/rpc/sockets/accept_loop.h"
#include "shared/rpc/sockets/socket_name.h"
#include "tests/fakes/descriptor_limit.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using Outcome = ConnectionAcceptor::Outcome;

class AcceptConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    address_ = *MakeSocketAddress(folder_ / "a.sock");
    listener_.Reset(::socket(
        AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, /*protocol=*/0));
    ASSERT_EQ(
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address_),
               sizeof(address_)),
        0);
    ASSERT_EQ(::listen(listener_.get(), 8), 0);
  }

  UniqueFd Connect() {
    UniqueFd client(
        ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(
        ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address_),
                  sizeof(address_)),
        0);
    return client;
  }

  // Whether the server has closed its end.
  static bool IsClosed(const UniqueFd& client) {
    char byte = 0;
    return ::recv(client.get(), &byte, 1, 0) == 0;
  }

  TempFolder folder_;
  sockaddr_un address_ = {};
  UniqueFd listener_;
};

TEST_F(AcceptConnectionTest, TakesWhatWaits) {
  ConnectionAcceptor acceptor;
  EXPECT_EQ(acceptor.AcceptOne(listener_.get()).outcome, Outcome::kNone);
  const UniqueFd client = Connect();
  const ConnectionAcceptor::Result result = acceptor.AcceptOne(listener_.get());
  EXPECT_EQ(result.outcome, Outcome::kAccepted);
  EXPECT_TRUE(result.connection.valid());
  EXPECT_FALSE(IsClosed(client));
}

TEST_F(AcceptConnectionTest, ALoopThatAlwaysFindsAConnectionEnds) {
  Notification has_begun;
  auto loop = AcceptLoop::Start("a test", std::move(listener_), [&](UniqueFd) {
    has_begun.Notify();
    Connect();  // So that another one waits.
  });
  ASSERT_TRUE(loop.ok());
  Connect();
  ASSERT_TRUE(has_begun.WaitUntil(DeadlineIn(std::chrono::seconds(100))));
  loop->reset();
}

TEST_F(AcceptConnectionTest, ClosesWhatItHasNoDescriptorFor) {
  if (!kMayRunOutOfDescriptors) {
    GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors";
  }
  ConnectionAcceptor acceptor;
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Connect());
  {
    const DescriptorLimit none_left = DescriptorLimit::NoneLeft();
    for (const UniqueFd& client : clients) {
      EXPECT_FALSE(IsClosed(client));
      EXPECT_EQ(acceptor.AcceptOne(listener_.get()).outcome, Outcome::kRefused);
      EXPECT_TRUE(IsClosed(client));
    }
    EXPECT_EQ(acceptor.AcceptOne(listener_.get()).outcome, Outcome::kNone);
  }
  const UniqueFd client = Connect();
  EXPECT_EQ(acceptor.AcceptOne(listener_.get()).outcome, Outcome::kAccepted);
}

TEST_F(AcceptConnectionTest, WithoutAReserveTheConnectionWaits) {
  if (!kMayRunOutOfDescriptors) {
    GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors";
  }
  ConnectionAcceptor acceptor;
  const UniqueFd client = Connect();
  {
    // Below the number of the reserve: closing it makes no room.
    const DescriptorLimit limit(3);
    EXPECT_EQ(acceptor.AcceptOne(listener_.get()).outcome, Outcome::kExhausted);
    EXPECT_EQ(acceptor.AcceptOne(listener_.get()).outcome, Outcome::kExhausted);
  }
  EXPECT_FALSE(IsClosed(client));
  EXPECT_EQ(acceptor.AcceptOne(listener_.get()).outcome, Outcome::kAccepted);
}

}  // namespace
}  // namespace fgnn
