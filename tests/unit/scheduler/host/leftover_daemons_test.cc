#include "scheduler/host/book/leftover_daemons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "shared/base/files/unique_fd.h"
#include "shared/config/state_dir.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

class LeftoverDaemonsTest : public testing::Test {
 protected:
  void SetUp() override { FGNN_ASSERT_OK(MakeStateDir(temp_.path())); }

  static sockaddr_un AddressOf(const fs::path& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    return address;
  }
  static UniqueFd Bind(const fs::path& path) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(path);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                     sizeof(address)),
              0);
    return socket;
  }

  TempFolder temp_;
  const fs::path executors_ = temp_ / "executors";
};

TEST_F(LeftoverDaemonsTest, RemovesTheSocketsOfTheDeadAndNothingElse) {
  Bind(executors_ / "sampler.0.sock");
  std::ofstream(executors_ / "notes.txt") << "a file";
  Bind(temp_ / "other.sock");
  fs::create_symlink(temp_ / "other.sock", executors_ / "trainer.0.sock");
  EXPECT_EQ(StopLeftoverDaemons(temp_.path()), 0);
  EXPECT_FALSE(fs::exists(executors_ / "sampler.0.sock"));
  EXPECT_TRUE(fs::exists(executors_ / "notes.txt"));
  EXPECT_TRUE(fs::is_symlink(executors_ / "trainer.0.sock"));
  EXPECT_TRUE(fs::exists(temp_ / "other.sock"));
}

TEST_F(LeftoverDaemonsTest, FollowsNoLinkInThePlaceOfItsFolder) {
  const TempFolder other;
  Bind(other / "sampler.0.sock");
  std::ofstream(other / "notes.txt") << "a file";
  fs::remove(executors_);
  fs::create_directory_symlink(other.path(), executors_);
  EXPECT_EQ(StopLeftoverDaemons(temp_.path()), 0);
  EXPECT_TRUE(fs::exists(other / "sampler.0.sock"));
  EXPECT_TRUE(fs::exists(other / "notes.txt"));
}

// As of a daemon that was stopped: a connect that waits would never return.
TEST_F(LeftoverDaemonsTest, AFullBacklogKeepsNobodyWaiting) {
  const fs::path path = executors_ / "sampler.0.sock";
  const UniqueFd listener = Bind(path);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const sockaddr_un address = AddressOf(path);
  std::vector<UniqueFd> clients;
  do {
    clients.emplace_back(
        ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  } while (::connect(clients.back().get(),
                     reinterpret_cast<const sockaddr*>(&address),
                     sizeof(address)) == 0);
  EXPECT_THAT(FindLeftoverDaemons(temp_.path()), IsEmpty());
  EXPECT_EQ(StopLeftoverDaemons(temp_.path()), 0);
  EXPECT_TRUE(fs::exists(path));
}

}  // namespace
}  // namespace fgnn
