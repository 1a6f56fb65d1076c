// What is looked up and made for a user, compared with what the kernel lets
// that user do: thousands of chance paths over folders, links, modes, owners
// and ACLs.
#include "scheduler/files/access/user_path.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/files/run_removal.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOwner = 64'002;
constexpr uid_t kUser = 64'003;
constexpr gid_t kUsersGroup = 64'000;
constexpr int kTrees = 60;
constexpr int kPathsOfTree = 25;

FileUser Bob() { return {.uid = kUser, .groups = {kUser, kUsersGroup}}; }

// Returns what `act` returns in a process of bob's.
int AsBob(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_bob = ::setgroups(1, &kUsersGroup) == 0 &&
                        ::setresgid(kUser, kUser, kUser) == 0 &&
                        ::setresuid(kUser, kUser, kUser) == 0;
    ::_exit(is_bob ? act() : 255);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 255);
  return WEXITSTATUS(status);
}

int StatAsBob(const fs::path& path) {
  return AsBob([&path] {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 ? 0 : errno;
  });
}

bool MayWriteAsBob(const fs::path& folder) {
  return AsBob([&folder] {
           return ::access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : 1;
         }) == 0;
}

// A tree of chance.
class ChanceTree {
 public:
  explicit ChanceTree(uint64_t seed) : random_(seed) {
    fs::permissions(temp_.path(), fs::perms(0755));
    all_.push_back(temp_.path());
    for (int i = 0; i < 25; ++i) Grow(absl::StrCat("n", i));
  }

  fs::path AnyPath() {
    fs::path path = Any();
    for (int more = Below(3); more > 0; --more) {
      path /= std::array{"..", ".", "new", "n3", "n7", "n11"}[Below(6)];
    }
    return path;
  }
  fs::path AnyFolder() {
    while (true) {
      fs::path path = Any();
      if (fs::is_directory(fs::symlink_status(path))) return path;
    }
  }
  size_t Below(size_t end) { return random_() % end; }

 private:
  const fs::path& Any() { return all_[Below(all_.size())]; }

  void Grow(const std::string& name) {
    const fs::path path = AnyFolder() / name;
    const size_t kind = Below(6);
    if (kind == 0) {
      const fs::path target = Any();
      fs::create_symlink(Below(2) == 0
                             ? target
                             : target.lexically_relative(path.parent_path()),
                         path);
    } else if (kind == 1) {
      std::ofstream(path) << "file";
    } else {
      fs::create_directory(path);
    }
    const uid_t owner = std::array<uid_t, 3>{0, kOwner, kUser}[Below(3)];
    const gid_t group = std::array<gid_t, 3>{0, kUsersGroup, kOwner}[Below(3)];
    ASSERT_EQ(::lchown(path.c_str(), owner, group), 0);
    all_.push_back(path);
    if (kind == 0) return;
    constexpr std::array kModes = {0700, 0750, 0755, 0770,  0777, 0711, 0733,
                                   0050, 0005, 0555, 01777, 0000, 0707, 0775};
    ASSERT_EQ(::chmod(path.c_str(), kModes[Below(kModes.size())]), 0);
    if (Below(3) == 0) SetAcl(path);
  }

  void SetAcl(const fs::path& path) {
    struct Entry {
      unsigned tag, id;
    };
    std::string bytes(sizeof(posix_acl_xattr_header), '\0');
    bytes[0] = POSIX_ACL_XATTR_VERSION;
    for (const Entry& one :
         {Entry{ACL_USER_OBJ, ~0U},
          Entry{ACL_USER, Below(2) == 0 ? kOwner : kUser},
          Entry{ACL_GROUP_OBJ, ~0U}, Entry{ACL_GROUP, kUsersGroup},
          Entry{ACL_MASK, ~0U}, Entry{ACL_OTHER, ~0U}}) {
      const posix_acl_xattr_entry entry = {
          .e_tag = static_cast<uint16_t>(one.tag),
          .e_perm = static_cast<uint16_t>(Below(8)),
          .e_id = one.id};
      bytes.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
    }
    // Modes alone decide where the file system has no ACLs.
    ::setxattr(path.c_str(), XATTR_NAME_POSIX_ACL_ACCESS, bytes.data(),
               bytes.size(), 0);
  }

  std::mt19937_64 random_;
  const TempFolder temp_;
  std::vector<fs::path> all_;
};

class UserPathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  }
};

TEST_F(UserPathTest, APathIsLookedUpAsTheKernelDoesForTheUser) {
  int num_closed = 0;
  for (int seed = 0; seed < kTrees; ++seed) {
    ChanceTree tree(seed);
    for (int i = 0; i < kPathsOfTree; ++i) {
      const fs::path path = tree.AnyPath();
      SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", path.string()));
      const int error = StatAsBob(path);
      const absl::StatusOr<FoundPath> found = FindAs(Bob(), path);
      if (!found.ok()) {  // A loop, or a link of another user in a folder of
                          // all.
        EXPECT_TRUE(error == ELOOP || absl::IsPermissionDenied(found.status()))
            << found.status();
        continue;
      }
      EXPECT_EQ(found->is_closed, error == EACCES) << found->name;
      EXPECT_EQ(!found->is_closed && found->missing.empty(), error == 0);
      num_closed += found->is_closed ? 1 : 0;
      if (error != 0) continue;
      EXPECT_EQ(Has(Bob(), *found, kMayWrite | kMayEnter).value(),
                MayWriteAsBob(path));
    }
  }
  EXPECT_GT(num_closed, kTrees);  // Enough of the paths are closed.
}

TEST_F(UserPathTest, AFolderIsMadeWhereTheUserMightHaveMadeIt) {
  int num_made = 0;
  for (int seed = 0; seed < kTrees; ++seed) {
    ChanceTree tree(1'000 + seed);
    for (int i = 0; i < kPathsOfTree; ++i) {
      const fs::path path = tree.AnyPath() / absl::StrCat("run", i);
      SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", path.string()));
      fs::path there = path.parent_path();
      while (StatAsBob(there) == ENOENT) there = there.parent_path();
      const bool might = MayWriteAsBob(there);
      const absl::StatusOr<FoundPath> made =
          FindOrMakeFolder(path, [](const fs::path& asked) {
            return FindRunFolderAs({.user = Bob(), .name = "bob"}, "/state",
                                   asked);
          });
      EXPECT_TRUE(might || !made.ok());
      if (!made.ok()) continue;
      ++num_made;
      struct stat named = {};
      ASSERT_EQ(::stat(path.c_str(), &named), 0);
      EXPECT_EQ(named.st_ino, made->info.st_ino);
    }
  }
  EXPECT_GT(num_made, kTrees);
}

// Another folder of this process's user takes the name of the new one, as fast
// as a user can. Neither it nor what is in it is taken for the new one.
TEST(FindOrMakeFolderTest, AnotherFolderIsNotTakenForTheNewOne) {
  const TempFolder temp;
  fs::create_directory(temp / "other");
  std::ofstream(temp / "other/kept") << "kept";
  struct stat other = {};
  ASSERT_EQ(::stat((temp / "other").c_str(), &other), 0);
  std::atomic<bool> ends = false;
  std::thread swaps([&] {
    while (!ends) {
      ::renameat2(AT_FDCWD, (temp / "other").c_str(), AT_FDCWD,
                  (temp / "run").c_str(), RENAME_EXCHANGE);
    }
  });
  int num_made = 0;
  for (int i = 0; i < 300; ++i) {
    // It looks before the folder is there.
    const absl::StatusOr<FoundPath> made =
        FindOrMakeFolder(temp / "run", [&](const fs::path&) {
          return absl::StatusOr<FoundPath>(
              FoundPath{.place = UniqueFd(::open(temp.path().c_str(), O_PATH)),
                        .name = temp.path(),
                        .missing = "run"});
        });
    if (made.ok()) {
      ++num_made;
      EXPECT_NE(made->info.st_ino, other.st_ino);
    }
    // The empty one goes; the other gets its name back.
    ::rmdir((temp / "run").c_str());
    ::rmdir((temp / "other").c_str());
    ::renameat2(AT_FDCWD, (temp / "run").c_str(), AT_FDCWD,
                (temp / "other").c_str(), RENAME_NOREPLACE);
  }
  ends = true;
  swaps.join();
  EXPECT_GT(num_made, 0);
}

// Runs of all owners, in chance folders: a member's call removes and takes none
// but those that the member might have removed or that were made for the
// member.
TEST_F(UserPathTest, ARunIsTakenAndRemovedByWhoHasARightToIt) {
  int num_removed = 0;
  int num_kept = 0;
  const RunCaller bob = {.user = Bob(), .name = "bob"};
  for (int seed = 0; seed < 10 * kTrees; ++seed) {
    ChanceTree tree(5'000 + seed);
    const fs::path run = tree.AnyFolder();
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", run.string()));
    fs::create_directory(run / "checkpoints");
    std::ofstream(run / "metrics.jsonl") << "{}";
    const std::string user = tree.Below(2) == 0 ? "ann" : "bob";
    std::ofstream(run / "run.json")
        << R"({"job_id":"job-1","user":")" << user << "\"}";
    struct stat info = {};
    ASSERT_EQ(::stat(run.c_str(), &info), 0);
    const bool might = info.st_uid == kUser && MayWriteAsBob(run);
    const bool was_made_for_bob = info.st_uid == 0 && user == "bob" &&
                                  (info.st_mode & S_ISVTX) == 0 &&
                                  StatAsBob(run) == 0;
    const auto removed = RemoveRunFolder(run, "job-1", bob, "/state");
    FGNN_ASSERT_OK(removed.status());
    const bool is_gone = !fs::exists(run / "metrics.jsonl");
    EXPECT_TRUE(!is_gone || might || was_made_for_bob);
    EXPECT_TRUE(is_gone || !removed->left.empty());
    ++(is_gone ? num_removed : num_kept);
  }
  EXPECT_GT(num_removed, 20);
  EXPECT_GT(num_kept, 20);
}

}  // namespace
}  // namespace fgnn
