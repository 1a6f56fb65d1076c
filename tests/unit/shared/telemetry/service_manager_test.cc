#include "shared/telemetry/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

// A service manager's socket, which the environment names.
class ServiceManagerTest : public ::testing::Test {
 protected:
  ServiceManagerTest()
      : socket_(
            ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = (folder_.path() / "notify").string();
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof(address)),
              0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~ServiceManagerTest() override {
    for (const char* name :
         {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
      ::unsetenv(name);
    }
  }

  // Returns the next message; empty: none was sent.
  std::string Next() {
    char text[64];
    const ssize_t size = ::recv(socket_.get(), text, sizeof(text), 0);
    return size > 0 ? std::string(text, static_cast<size_t>(size)) : "";
  }

 private:
  TempFolder folder_;
  UniqueFd socket_;
};

TEST_F(ServiceManagerTest, HearsOfStartAndEnd) {
  ServiceManager manager;
  manager.SayReady();
  manager.SayAlive();  // Without a watchdog: nothing.
  manager.SayStopping();
  EXPECT_EQ(Next(), "READY=1");
  EXPECT_EQ(Next(), "STOPPING=1");
  EXPECT_EQ(Next(), "");
}

TEST_F(ServiceManagerTest, HearsThatTheDaemonWorksNotMoreOftenThanItNeeds) {
  ::setenv("WATCHDOG_USEC", "3600000000", 1);
  ::setenv("WATCHDOG_PID", absl::StrCat(::getpid()).c_str(), 1);
  ServiceManager manager;
  manager.SayAlive();
  manager.SayAlive();
  EXPECT_EQ(Next(), "WATCHDOG=1");
  EXPECT_EQ(Next(), "");
}

TEST_F(ServiceManagerTest, AWatchdogOfAnotherProcessIsNotItsOwn) {
  ::setenv("WATCHDOG_USEC", "3600000000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  ServiceManager manager;
  manager.SayAlive();
  EXPECT_EQ(Next(), "");
}

TEST(NoServiceManagerTest, NothingIsSaid) {
  ServiceManager manager;
  manager.SayReady();
  manager.SayAlive();
  manager.SayStopping();
}

}  // namespace
}  // namespace fgnn
