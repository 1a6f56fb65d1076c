// What SocketName::RemoveUnpublished() takes away, and what it does not touch.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "shared/base/files/unique_fd.h"
#include "shared/rpc/sockets/socket_name.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

void MakeSocket(const fs::path& path) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  FGNN_ASSERT_OK_AND_ASSIGN(const sockaddr_un address, MakeSocketAddress(path));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
}

class UnpublishedSocketsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"executors", "elsewhere"}) {
      fs::create_directories(temp_ / name / ".sabc");
      MakeSocket(temp_ / name / ".sabc/s");
    }
  }
  TempFolder temp_;
};

TEST_F(UnpublishedSocketsTest, AreRemovedWithTheirFolders) {
  SocketName::RemoveUnpublished(temp_ / "executors");
  EXPECT_TRUE(fs::is_empty(temp_ / "executors"));
}

TEST_F(UnpublishedSocketsTest, NothingButSocketsIsRemoved) {
  fs::create_directory(temp_ / "executors/.sdef");
  std::ofstream(temp_ / "executors/.sdef/s") << "a file of that name";
  SocketName::RemoveUnpublished(temp_ / "executors");
  EXPECT_TRUE(fs::exists(temp_ / "executors/.sdef/s"));
}

TEST_F(UnpublishedSocketsTest, NoLinkIsFollowed) {
  fs::create_directory_symlink(temp_ / "elsewhere", temp_ / "link");
  SocketName::RemoveUnpublished(temp_ / "link");
  EXPECT_TRUE(fs::exists(temp_ / "elsewhere/.sabc/s"));
  fs::create_directory_symlink(temp_ / "elsewhere/.sabc",
                               temp_ / "executors/.sdef");
  SocketName::RemoveUnpublished(temp_ / "executors");
  EXPECT_TRUE(fs::exists(temp_ / "elsewhere/.sabc/s"));
}

}  // namespace
}  // namespace fgnn
