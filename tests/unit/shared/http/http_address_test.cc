#include "shared/http/http_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST(HttpAddressTest, APortAloneIsOfTheLoopback) {
  FGNN_ASSERT_OK_AND_ASSIGN(const HttpAddress address,
                            ParseHttpAddress("9470"));
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_TRUE(address.is_loopback);
}

TEST(HttpAddressTest, SaysWhetherOtherMachinesReachAnAddress) {
  for (const char* text :
       {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"}) {
    FGNN_ASSERT_OK_AND_ASSIGN(const HttpAddress address,
                              ParseHttpAddress(text));
    EXPECT_TRUE(address.is_loopback) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "192.0.2.1:1"}) {
    FGNN_ASSERT_OK_AND_ASSIGN(const HttpAddress address,
                              ParseHttpAddress(text));
    EXPECT_FALSE(address.is_loopback) << text;
  }
}

TEST(HttpAddressTest, RefusesOtherTextWithAnExample) {
  for (const char* text :
       {"", ":", ":80", "host:", "127.0.0.1:65536", "127.0.0.1:x", "::1:80",
        "[::1]", "[::1]80", "http://127.0.0.1:80", "-1", "1 "}) {
    EXPECT_THAT(ParseHttpAddress(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("e.g. 127.0.0.1:9470")))
        << text;
  }
}

TEST(HttpAddressTest, NamesAHostThatIsNotThere) {
  EXPECT_THAT(
      ParseHttpAddress("no-such-host.invalid:1"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("no-such-host.invalid")));
}

TEST(HttpAddressTest, ATakenPortIsNamedWithTheWayOut) {
  FGNN_ASSERT_OK_AND_ASSIGN(const HttpAddress any, ParseHttpAddress("0"));
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd first, ListenOn(any));
  FGNN_ASSERT_OK_AND_ASSIGN(const int port, PortOf(first));
  EXPECT_GT(port, 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const HttpAddress taken,
                            ParseHttpAddress(std::to_string(port)));
  EXPECT_THAT(ListenOn(taken),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another program listens on this port")));
}

TEST(HttpAddressTest, OnlyNumbersAndOwnNamesAreHosts) {
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:9470", "[::1]:9470", "[::1]", "localhost",
        "LocalHost:1", "node1:9470", "NODE1", "192.0.2.1:80"}) {
    EXPECT_TRUE(IsHostAllowed(host, "Node1")) << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:9470", "localhost.evil.example",
        "127.0.0.1.evil.example", "node1.evil.example", "127.0.0.1 x"}) {
    EXPECT_FALSE(IsHostAllowed(host, "Node1")) << host;
  }
}

TEST(HttpAddressTest, PutsBracketsAroundIpv6) {
  EXPECT_EQ(HostAndPort("::1", 80), "[::1]:80");
  EXPECT_EQ(HostAndPort("localhost", 80), "localhost:80");
}

}  // namespace
}  // namespace fgnn
