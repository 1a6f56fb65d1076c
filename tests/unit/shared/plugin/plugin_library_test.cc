#include "shared/plugin/plugin_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

struct Entry {
  uint32_t version;
};

// The file is no library: what is trusted gets as far as the loader.
class PluginLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms(0750));
    std::ofstream(file_) << "text";
    fs::permissions(file_, fs::perms(0644));
  }

  absl::Status Open() {
    return PluginLibrary::Open<Entry>({folder_, "mine", "sampling.plugin"},
                                      "symbol", "MACRO", 1)
        .status();
  }

  TempFolder temp_;
  const fs::path folder_ = temp_ / "plugins";
  const fs::path file_ = folder_ / "libmine.so";
};

TEST_F(PluginLibraryTest, LoadsWhatThisUserAloneMayWrite) {
  EXPECT_THAT(Open(), InvalidArgument("cannot be loaded"));
}

TEST_F(PluginLibraryTest, RefusesWhatOthersMayWrite) {
  fs::permissions(file_, fs::perms(0664));
  EXPECT_THAT(Open(),
              PermissionDenied("libmine.so has mode 0664", "chmod go-w"));
  fs::permissions(file_, fs::perms(0644));
  fs::permissions(folder_, fs::perms(0770));
  EXPECT_THAT(Open(), PermissionDenied("plugins has mode 0770"));
}

TEST_F(PluginLibraryTest, RefusesWhatIsNoPlainFile) {
  fs::rename(file_, temp_ / "elsewhere.so");
  fs::create_symlink(temp_ / "elsewhere.so", file_);
  EXPECT_THAT(Open(), PermissionDenied("no plain file"));
}

TEST_F(PluginLibraryTest, RefusesAnotherUsersFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kNobody = 65'534;
  for (const fs::path& path : {file_, folder_}) {
    ASSERT_EQ(::chown(path.c_str(), kNobody, 0), 0);
    EXPECT_THAT(Open(), PermissionDenied("belongs to")) << path;
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
}

}  // namespace
}  // namespace fgnn
