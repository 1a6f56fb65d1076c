#include "shared/rpc/sockets/host_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

TEST(HostPortTest, ReadsNamesAndAddresses) {
  FGNN_ASSERT_OK_AND_ASSIGN(const HostPort name, ParseHostPort("gpu1:7070"));
  EXPECT_EQ(name.host, "gpu1");
  EXPECT_EQ(name.port, 7070);
  EXPECT_EQ(name.Text(), "gpu1:7070");
  FGNN_ASSERT_OK_AND_ASSIGN(const HostPort six, ParseHostPort("[::1]:65535"));
  EXPECT_EQ(six.host, "::1");
  EXPECT_EQ(six.Text(), "[::1]:65535");
}

TEST(HostPortTest, RefusesOtherTextWithAnExample) {
  for (const char* text :
       {"", ":", "gpu1", ":7070", "gpu1:", "gpu1:x", "gpu1:-1", "gpu1:+1",
        "gpu1:1 ", "gpu1:65536", "::1:7070", "[]:7070", "[::1]", "[::1]80",
        "http://127.0.0.1:80"}) {
    EXPECT_THAT(ParseHostPort(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("gpu1:7070")))
        << text;
  }
}

TEST(HostPortTest, TellsWhetherOtherMachinesReachAHost) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    EXPECT_EQ(IsLoopback(host).value(), true) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "192.0.2.1"}) {
    EXPECT_EQ(IsLoopback(host).value(), false) << host;
  }
  EXPECT_THAT(
      IsLoopback("no-such-host.invalid"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("no-such-host")));
}

TEST(HostPortTest, ATakenPortIsNamedWithTheWayOut) {
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd first, ListenOn({"127.0.0.1", 0}));
  FGNN_ASSERT_OK_AND_ASSIGN(const HostPort taken, BoundAddress(first.get()));
  EXPECT_GT(taken.port, 0);
  EXPECT_THAT(ListenOn(taken),
              StatusIs(StatusCode::kAlreadyExists,
                       AllOf(HasSubstr(taken.Text()),
                             HasSubstr("another process listens there"),
                             HasSubstr("name another port"))));
}

}  // namespace
}  // namespace fgnn
