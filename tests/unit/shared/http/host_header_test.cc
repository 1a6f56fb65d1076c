#include "shared/http/host_header.h"

#include <gtest/gtest.h>

namespace fgnn {
namespace {

TEST(HostHeaderTest, OnlyNumbersAndOwnNamesAreHosts) {
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:9470", "[::1]:9470", "[::1]", "localhost",
        "LocalHost:1", "node1:9470", "NODE1", "192.0.2.1:80"}) {
    EXPECT_TRUE(IsHostAllowed(host, "Node1")) << host;
  }
  for (const char* host :
       {"", ":", ":80", "evil.example", "evil.example:9470",
        "localhost.evil.example", "127.0.0.1.evil.example",
        "node1.evil.example", "127.0.0.1 x", "localhost:x"}) {
    EXPECT_FALSE(IsHostAllowed(host, "Node1")) << host;
  }
  EXPECT_FALSE(IsHostAllowed("", ""));
}

}  // namespace
}  // namespace fgnn
