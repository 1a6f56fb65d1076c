#include "scheduler/files/access/path_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "scheduler/files/run_lock.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/scheduler/ring_dataset.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

constexpr uid_t kAnn = 64'002;
constexpr uid_t kBob = 64'003;
constexpr gid_t kGroup = 64'000;

class PathRulesTest : public testing::Test {
 protected:
  PathRulesTest() {
    fs::permissions(temp_.path(), fs::perms(0755));
    fs::create_directories(temp_ / "graphs");
    WriteRing(ring_, {});
    WriteRing(secret_, {});
    rules_.dataset_roots =
        MakeRoots({(temp_ / "graphs").string()}, "--dataset-root").value();
  }
  absl::Status Check(const fs::path& dataset) {
    return CheckDatasetPath(rules_, {.uid = ::geteuid(), .groups = {}},
                            dataset);
  }
  absl::Status CheckAs(uid_t user, const fs::path& dataset) {
    return CheckDatasetPath({}, {.uid = user, .groups = {kGroup}}, dataset);
  }

  const TempFolder temp_;
  const fs::path ring_ = temp_ / "graphs" / "ring";
  const fs::path secret_ = temp_ / "secret";
  PathRules rules_;
};

TEST_F(PathRulesTest, ADatasetLiesInARootByItsRealPath) {
  EXPECT_THAT(Check(ring_), IsOk());
  EXPECT_THAT(Check(ring_ / ".." / "ring"), IsOk());
  EXPECT_THAT(Check(temp_ / "graphs" / "nothing"), IsOk());
  EXPECT_THAT(
      Check(secret_),
      StatusIs(StatusCode::kPermissionDenied,
               AllOf(HasSubstr(secret_.string()), HasSubstr("--dataset-root"),
                     HasSubstr((temp_ / "graphs").string()))));
  EXPECT_FALSE(Check(ring_ / ".." / ".." / "secret").ok());
  fs::create_directory(temp_ / "graphs-of-others");  // The root is its prefix.
  EXPECT_FALSE(Check(temp_ / "graphs-of-others").ok());
  fs::create_directory_symlink(secret_, temp_ / "graphs" / "link");
  EXPECT_THAT(Check(temp_ / "graphs" / "link"),
              StatusIs(StatusCode::kPermissionDenied,
                       HasSubstr("leads to " + secret_.string())));
  EXPECT_FALSE(CheckDatasetRoot(rules_, temp_ / "graphs" / "link").ok());
  EXPECT_THAT(CheckDatasetRoot(rules_, ring_), IsOk());
}

TEST_F(PathRulesTest, SoDoTheFilesThatAreReadAndWrittenInIt) {
  fs::remove(ring_ / "features.npy");
  fs::create_symlink(secret_ / "features.npy", ring_ / "features.npy");
  EXPECT_FALSE(Check(ring_).ok());
  fs::remove(ring_ / "features.npy");
  fs::create_directory_symlink(secret_, ring_ / "derived");
  EXPECT_FALSE(Check(ring_).ok());
}

// Only the service reads what is derived of a dataset, and its own alone.
TEST_F(PathRulesTest, WhatIsDerivedMayBeClosedToTheUser) {
  fs::create_directory(ring_ / "derived");
  fs::permissions(ring_ / "derived", fs::perms(0700));
  EXPECT_THAT(CheckAs(kAnn, ring_), IsOk());
}

// Whether the user may read it is not known then.
TEST_F(PathRulesTest, WhatCannotBeLookedUpIsNotRead) {
  fs::create_symlink("loop", temp_ / "loop");
  const FileUser ann = {.uid = kAnn, .groups = {}};
  EXPECT_THAT(CheckFilePath({}, ann, temp_ / "loop", "model.file").message(),
              HasSubstr("model.file " + (temp_ / "loop").string() + ": "));
  EXPECT_FALSE(CheckAs(kAnn, temp_ / "loop").ok());
  EXPECT_THAT(CheckFilePath({}, ann, temp_ / "none", "model.file"), IsOk());
  fs::remove(ring_ / "labels.npy");
  fs::create_symlink("labels.npy", ring_ / "labels.npy");
  EXPECT_FALSE(CheckAs(kAnn, ring_).ok());
}

// As the kernel does where protected_symlinks is set.
TEST_F(PathRulesTest, ALinkOfAnotherUserInASharedFolderIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give links away";
  const fs::path shared = temp_ / "shared";
  fs::create_directory(shared);
  fs::permissions(shared, fs::perms(01777));
  fs::create_symlink(ring_ / "labels.npy", shared / "link");
  ASSERT_EQ(::lchown((shared / "link").c_str(), kBob, kBob), 0);
  const FileUser ann = {.uid = kAnn, .groups = {}};
  const FileUser bob = {.uid = kBob, .groups = {}};
  EXPECT_THAT(CheckFilePath({}, ann, shared / "link", "model.file"),
              StatusIs(StatusCode::kPermissionDenied));
  const absl::Status of_bob =
      CheckFilePath({}, bob, shared / "link", "model.file");
  // The service itself may not follow it where the kernel says so.
  EXPECT_TRUE(of_bob.ok() || absl::IsPermissionDenied(of_bob)) << of_bob;
}

TEST_F(PathRulesTest, AUserIsLedToNoFileThatTheUserMayNotRead) {
  EXPECT_THAT(CheckAs(kAnn, secret_), IsOk());
  fs::permissions(secret_ / "features.npy", fs::perms(0640));
  EXPECT_THAT(CheckAs(kAnn, secret_),
              StatusIs(StatusCode::kPermissionDenied,
                       HasSubstr("uid 64002 may not read " +
                                 (secret_ / "features.npy").string())));
  EXPECT_THAT(CheckAs(::geteuid(), secret_), IsOk());
  EXPECT_THAT(CheckAs(0, secret_), IsOk());
  fs::permissions(secret_ / "features.npy", fs::perms(0644));
  fs::permissions(secret_, fs::perms(0750));
  EXPECT_FALSE(CheckAs(kAnn, secret_).ok());
  // By a link of the user's own, and without an account.
  fs::create_directory_symlink(secret_, temp_ / "link");
  EXPECT_FALSE(CheckAs(kAnn, temp_ / "link").ok());
  EXPECT_FALSE(CheckDatasetPath({}, {}, secret_).ok());
  EXPECT_THAT(CheckDatasetPath({}, {}, ring_), IsOk());
  fs::permissions(temp_ / "graphs", fs::perms(0700));
  EXPECT_THAT(CheckAs(kAnn, ring_),
              StatusIs(StatusCode::kPermissionDenied,
                       HasSubstr((temp_ / "graphs").string())));
}

// A job names a further file of the dataset: sampling.weights.
TEST_F(PathRulesTest, TheFileOfWeightsIsLookedAtToo) {
  const fs::path closed = temp_ / "closed";
  WriteRing(closed, {});
  fs::create_symlink(closed / "labels.npy", ring_ / "w.npy");
  const std::string absolute = (closed / "labels.npy").string();
  const FileUser ann = {.uid = kAnn, .groups = {}};
  for (const std::string& weights : {std::string("w.npy"), absolute,
                                     std::string("../../closed/labels.npy")}) {
    EXPECT_THAT(CheckDatasetPath({}, ann, ring_, weights), IsOk());
    fs::permissions(closed, fs::perms(0700));
    EXPECT_THAT(CheckDatasetPath({}, ann, ring_, weights),
                StatusIs(StatusCode::kPermissionDenied,
                         HasSubstr("may not read " + closed.string())));
    EXPECT_THAT(CheckDatasetPath({}, ann, ring_), IsOk());
    fs::permissions(closed, fs::perms(0755));
    EXPECT_THAT(
        CheckDatasetRoot(rules_, ring_, weights),
        StatusIs(StatusCode::kPermissionDenied, HasSubstr("--dataset-root")));
  }
  EXPECT_THAT(CheckDatasetRoot(rules_, ring_, "labels.npy"), IsOk());
}

TEST_F(PathRulesTest, OwnerGroupAndOthersAreToldApart) {
  const FileUser owner = {.uid = ::geteuid(), .groups = {}};
  const FileUser member = {.uid = kAnn, .groups = {::getegid()}};
  const FileUser other = {.uid = kAnn, .groups = {kGroup}};
  const fs::path file = secret_ / "features.npy";
  fs::permissions(file, fs::perms(0640));
  EXPECT_TRUE(MayAccess(member, file, kMayRead).value());
  EXPECT_FALSE(MayAccess(other, file, kMayRead).value());
  // The first class that the user is in decides.
  fs::permissions(file, fs::perms(0604));
  EXPECT_FALSE(MayAccess(member, file, kMayRead).value());
  EXPECT_TRUE(MayAccess(other, file, kMayRead).value());
  fs::permissions(file, fs::perms(0044));
  EXPECT_EQ(MayAccess(owner, file, kMayRead).value(), ::geteuid() == 0);
}

// In a process of its own, which becomes the service's user.
TEST_F(PathRulesTest,
       WhatTheServiceMayNotReadIsNamedWithTheCommandThatOpensIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const fs::path home = temp_ / "home of ann";
  const fs::path graph = home / "data" / "graph";
  WriteRing(graph, {});
  fs::permissions(home, fs::perms(0700));
  const std::string command = "'setfacl -m u:64003:x '" + home.string() +
                              "' '" + (home / "data").string() +
                              "' && setfacl -R -m u:64003:rX '" +
                              graph.string() + "''";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool is_other = ::setresgid(kBob, kBob, kBob) == 0 &&
                          ::setresuid(kBob, kBob, kBob) == 0;
    const absl::Status status =
        CheckDatasetPath({}, {.uid = 0, .groups = {}}, graph);
    const bool is_right =
        is_other && absl::IsPermissionDenied(status) &&
        std::string(status.message()).find(command) != std::string::npos;
    ::_exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(PathRulesTest, ARunLiesInARootOrAmongTheServicesOwn) {
  const fs::path state = temp_ / "state";
  fs::create_directories(state / "runs");
  fs::create_directories(temp_ / "results");
  const FileUser ann = {.uid = kAnn, .groups = {}};
  const auto check = [&](const PathRules& rules, const fs::path& run_dir) {
    return CheckNewRunPath(rules, {.user = ann, .name = "ann"}, state,
                           CanonicalRunDir(run_dir));
  };
  const PathRules rules = {
      .dataset_roots = {},
      .run_roots =
          MakeRoots({(temp_ / "results").string()}, "--run-root").value()};
  // The rights of the caller decide, not those of the service.
  for (const PathRules& each : {PathRules(), rules}) {
    fs::permissions(temp_ / "results", fs::perms(0755));
    EXPECT_THAT(check(each, temp_ / "results" / "one"),
                StatusIs(StatusCode::kPermissionDenied,
                         HasSubstr("uid 64002 may not write in " +
                                   (temp_ / "results").string())));
    fs::permissions(temp_ / "results", fs::perms(0777));
    EXPECT_THAT(check(each, temp_ / "results" / "one"), IsOk());
    EXPECT_THAT(check(each, temp_ / "results" / "a" / "b"), IsOk());
  }
  EXPECT_THAT(check(rules, state / "runs" / "ann" / "one"), IsOk());
  EXPECT_THAT(check(rules, ""), IsOk());
  EXPECT_THAT(check(rules, temp_ / "results" / ".." / "one"),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("--run-root")));
  fs::create_directory_symlink(temp_ / "secret", temp_ / "results" / "link");
  EXPECT_FALSE(check(rules, temp_ / "results" / "link" / "one").ok());
  EXPECT_FALSE(check({}, state / "plugins").ok());
  EXPECT_FALSE(check({}, state / "runs" / ".." / "logs").ok());
}

TEST_F(PathRulesTest, AFolderThatIsThereIsTheCallersOrMadeForTheCaller) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const RunCaller ann = {.user = {.uid = kAnn, .groups = {}}, .name = "ann"};
  const fs::path above = temp_ / "above";
  const fs::path run = above / "run";
  fs::create_directories(run);
  fs::permissions(above, fs::perms(0777));
  const auto find = [&] {
    return FindRunFolderAs(ann, temp_ / "state", run).status();
  };
  EXPECT_THAT(find(), IsOk());  // Empty, and ann could make another.
  fs::permissions(above, fs::perms(01777));
  EXPECT_THAT(find(), StatusIs(StatusCode::kPermissionDenied));
  for (const uid_t owner : {kBob, uid_t{0}}) {
    fs::permissions(run, fs::perms(0777));
    std::ofstream(run / "notes.txt") << "not ann's";
    ASSERT_EQ(::chown(run.c_str(), owner, owner), 0);
    EXPECT_THAT(find(), StatusIs(StatusCode::kPermissionDenied,
                                 HasSubstr("is no run that the service has "
                                           "made for ann")));
  }
  std::ofstream(run / "run.json") << R"({"job_id":"job-1","user":"ann"})";
  EXPECT_THAT(find(), IsOk());
  fs::permissions(run, fs::perms(01777));  // Anybody may have moved it there.
  EXPECT_FALSE(find().ok());
  ASSERT_EQ(::chown(run.c_str(), kAnn, kAnn), 0);
  EXPECT_THAT(find(), IsOk());
  fs::permissions(run, fs::perms(0500));
  EXPECT_THAT(find(), StatusIs(StatusCode::kPermissionDenied,
                               HasSubstr("may not write in " + run.string())));
}

// The text is the same whatever there is in the folder.
TEST_F(PathRulesTest, AClosedFolderIsNotToldOf) {
  const RunCaller ann = {.user = {.uid = kAnn, .groups = {}}, .name = "ann"};
  const fs::path closed = temp_ / "closed";
  fs::create_directories(closed / "there");
  fs::create_directories(temp_ / "open");
  std::ofstream(closed / "file") << "secret";
  fs::create_symlink(temp_ / "open", closed / "link");
  fs::permissions(closed, fs::perms(0700));
  fs::permissions(temp_ / "open", fs::perms(0777));
  const std::string way = " may not enter " + closed.string();
  for (const char* name : {"there", "there/in", "file", "file/in", "missing",
                           "link", "link/in", "../closed/there/../../open"}) {
    const absl::Status there =
        CheckReaches(ann, temp_ / "state", closed / name);
    EXPECT_THAT(there,
                StatusIs(StatusCode::kPermissionDenied,
                         HasSubstr(std::string(name) + ": uid 64002" + way)))
        << name;
  }
  EXPECT_THAT(CheckReaches(ann, temp_ / "state", temp_ / "open/in"), IsOk());
}

TEST_F(PathRulesTest, ANewRunTakesNoFolderOfManyRunsAndNoneOfOthers) {
  const fs::path state = temp_ / "state";
  const fs::path runs = state / "runs";
  fs::create_directories(runs / "bob");
  fs::create_directories(temp_ / "results");
  const PathRules rules = {
      .dataset_roots = {},
      .run_roots =
          MakeRoots({(temp_ / "results").string()}, "--run-root").value()};
  const RunCaller ann = {.user = {.uid = kAnn, .groups = {}}, .name = "ann"};
  const RunCaller service = {.user = {.uid = ::geteuid(), .groups = {}},
                             .name = "fgnn",
                             .is_operator = true};
  for (const fs::path& folder : {runs, temp_ / "results"}) {
    EXPECT_FALSE(CheckNewRunPath(rules, ann, state, folder).ok()) << folder;
    EXPECT_THAT(CheckNewRunPath(rules, service, state, folder),
                StatusIs(StatusCode::kPermissionDenied,
                         HasSubstr("name a folder in it")));
  }
  for (const fs::path& folder :
       {runs / "bob", runs / "carl", runs / "ann", runs / "job-1",
        runs / "bob/job-1/checkpoints/epoch-0009.safetensors"}) {
    EXPECT_THAT(CheckNewRunPath(rules, ann, state, folder),
                StatusIs(StatusCode::kPermissionDenied,
                         HasSubstr((runs / "ann").string())));
  }
  EXPECT_THAT(CheckNewRunPath(rules, ann, state, runs / "ann/one"), IsOk());
  EXPECT_THAT(CheckNewRunPath(rules, service, state, runs / "one"), IsOk());
}

TEST_F(PathRulesTest, ARunThatIsToGoOnIsTheCallers) {
  const fs::path state = temp_ / "state";
  const RunCaller ann = {.user = {.uid = kAnn, .groups = {}}, .name = "ann"};
  const fs::path run = temp_ / "closed" / "run";
  const auto check = [&](const fs::path& run_dir) {
    return CheckResumedRunPath({}, ann, state, run_dir);
  };
  fs::create_directories(run);
  std::ofstream(run / "job.yaml") << "dataset: secret";
  // To read a run is not enough: the service would write into it.
  EXPECT_FALSE(check(run).ok());
  std::ofstream(run / "run.json") << R"({"job_id":"job-1","user":"ann"})";
  EXPECT_THAT(check(run), IsOk());
  fs::permissions(temp_ / "closed", fs::perms(0700));
  const absl::Status there = check(run);
  EXPECT_THAT(there, StatusIs(StatusCode::kPermissionDenied,
                              HasSubstr("may not enter")));
  // The same is said of what is not there.
  EXPECT_EQ(check(temp_ / "closed" / "no").code(), there.code());
  RunCaller boss = ann;
  boss.is_operator = true;
  EXPECT_THAT(CheckResumedRunPath({}, boss, state, run), IsOk());
  // A run of ann's that ended before it had a folder.
  fs::create_directories(state / "runs");
  fs::permissions(state, fs::perms(0700));
  EXPECT_THAT(check(state / "runs/ann/job-2"), IsOk());
  EXPECT_FALSE(check(state / "runs/bob/job-2").ok());
}

TEST_F(PathRulesTest, TheUserOfAJobIsReadAgainFromTheStore) {
  const FileUser ann = {.uid = kAnn, .groups = {kGroup, 7}};
  const FileUser read = ParseFileUser(FileUserText(ann));
  EXPECT_EQ(read.uid, ann.uid);
  EXPECT_EQ(read.groups, ann.groups);
  EXPECT_EQ(ParseFileUser(FileUserText({})).uid, std::nullopt);
  EXPECT_EQ(FileUserText(ServiceUser()), "");
  EXPECT_EQ(FileUserText({.uid = 0, .groups = {}}), "");
  EXPECT_TRUE(IsTrusted(ParseFileUser("")));
  // Damage gives nobody more rights.
  for (const char* text : {"x", ":", "-1:2", "0x0:", "root", "99999999999:"}) {
    EXPECT_EQ(ParseFileUser(text).uid, std::nullopt) << text;
  }
}

TEST_F(PathRulesTest, ARootThatIsNoFolderIsRefused) {
  EXPECT_THAT(MakeRoots({(temp_ / "none").string()}, "--run-root"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--run-root")));
  EXPECT_FALSE(MakeRoots({(ring_ / "train.npy").string()}, "--x").ok());
}

}  // namespace
}  // namespace fgnn
