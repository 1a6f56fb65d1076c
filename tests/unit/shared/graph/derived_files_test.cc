#include "shared/graph/derived_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "shared/graph/rank_order.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uid_t kNobody = 65534;

class DerivedFilesTest : public DatasetTest {
 protected:
  DerivedFilesTest() { Write(); }

  DerivedFiles Files() const { return {folder(), state_dir()}; }
  absl::Status Keep(const std::string& text) const {
    return Files().Keep("file", {std::string_view(text)});
  }
  // Returns the text, or "" if it cannot be read.
  std::string Read(DerivedPlace place) const {
    const absl::StatusOr<MappedFile> file = Files().Map(place, "file");
    if (!file.ok()) return "";
    return {reinterpret_cast<const char*>(file->bytes().data()),
            file->bytes().size()};
  }
  static std::vector<std::string> NamesIn(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
};

TEST_F(DerivedFilesTest, AreKeptBesideTheDataset) {
  FGNN_ASSERT_OK(Keep("one"));
  EXPECT_EQ(Read(DerivedPlace::kBeside), "one");
  EXPECT_THAT(NamesIn(folder() / "derived"), ElementsAre("file"));
  EXPECT_THAT(NamesIn(state_dir()), IsEmpty());
  FGNN_ASSERT_OK(Keep("two"));
  EXPECT_EQ(Read(DerivedPlace::kBeside), "two");
}

TEST_F(DerivedFilesTest, GoToTheServiceWhereTheDatasetCannotBeWritten) {
  // A file is in the way, which also stops root.
  std::ofstream(folder() / "derived") << "no folder";
  FGNN_ASSERT_OK(Keep("one"));
  EXPECT_EQ(Read(DerivedPlace::kBeside), "");
  EXPECT_EQ(Read(DerivedPlace::kService), "one");
  // Of this dataset alone.
  const TempFolder other;
  EXPECT_THAT(DerivedFiles(other.path(), state_dir())
                  .Map(DerivedPlace::kService, "file"),
              NotFound());
  struct stat info = {};
  ASSERT_EQ(::stat((state_dir() / "derived").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
}

TEST_F(DerivedFilesTest, ALinkInThePlaceOfTheFolderIsLeftAlone) {
  const TempFolder others;
  std::ofstream(others / "ranks-1.bin") << "precious";
  std::ofstream(others / "file") << "precious";
  fs::create_directory_symlink(others.path(), folder() / "derived");
  FGNN_ASSERT_OK(Keep("one"));
  Files().RemoveOthers("ranks-", "ranks-2");
  EXPECT_EQ(Read(DerivedPlace::kBeside), "");
  EXPECT_EQ(Read(DerivedPlace::kService), "one");
  EXPECT_EQ(fs::file_size(others / "file"), 8U);
  EXPECT_TRUE(fs::exists(others / "ranks-1.bin"));
}

TEST_F(DerivedFilesTest, ALinkInThePlaceOfAFileIsNotRead) {
  FGNN_ASSERT_OK(Keep("one"));
  fs::rename(folder() / "derived/file", folder() / "elsewhere");
  fs::create_symlink(folder() / "elsewhere", folder() / "derived/file");
  EXPECT_EQ(Read(DerivedPlace::kBeside), "");
  FGNN_ASSERT_OK(Keep("two"));
  EXPECT_EQ(Read(DerivedPlace::kBeside), "two");
  EXPECT_EQ(fs::file_size(folder() / "elsewhere"), 3U);
}

TEST_F(DerivedFilesTest, WhatOthersMayWriteIsNotRead) {
  for (const fs::path& path :
       {folder() / "derived/file", folder() / "derived"}) {
    FGNN_ASSERT_OK(Keep("one"));
    fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
    EXPECT_THAT(Files().Map(DerivedPlace::kBeside, "file"),
                PermissionDenied(path.string()));
  }
  // Nor is it written.
  FGNN_ASSERT_OK(Keep("two"));
  EXPECT_EQ(Read(DerivedPlace::kService), "two");
}

TEST_F(DerivedFilesTest, WhatAnotherUserOwnsIsNeitherReadNorWritten) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  FGNN_ASSERT_OK(Keep("one"));
  ASSERT_EQ(::chown((folder() / "derived/file").c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(Read(DerivedPlace::kBeside), "");
  fs::remove_all(folder() / "derived");
  ASSERT_EQ(::chown(folder().c_str(), kNobody, kNobody), 0);
  FGNN_ASSERT_OK(Keep("two"));
  EXPECT_FALSE(fs::exists(folder() / "derived"));
  EXPECT_EQ(Read(DerivedPlace::kService), "two");
}

TEST_F(DerivedFilesTest, WithoutAServiceTheyAreBesideTheDatasetOrNowhere) {
  const DerivedFiles files(folder(), /*state_dir=*/{});
  FGNN_ASSERT_OK(files.Keep("file", {std::string_view("one")}));
  fs::remove_all(folder() / "derived");
  std::ofstream(folder() / "derived") << "no folder";
  EXPECT_THAT(files.Keep("file", {std::string_view("one")}),
              FailedPrecondition((folder() / "derived").string()));
}

TEST_F(DerivedFilesTest, WhatIsOfADatasetThatIsGoneGoesToo) {
  const fs::path all = state_dir() / "derived";
  const auto write = [&](const fs::path& dataset) {
    FGNN_ASSERT_OK(
        DerivedFiles(dataset, state_dir())
            .Write(DerivedPlace::kService, "file", {std::string_view("text")}));
  };
  {
    const TempFolder other;
    std::ofstream(other / "metadata.yaml") << "num_nodes: 1";
    write(other.path());
    write(folder());
    EXPECT_EQ(NamesIn(all).size(), 2U);
    fs::remove(other / "metadata.yaml");
  }
  // As a killed process left it, and as another one has just made it.
  fs::create_directories(all / "0123456789abcdef");
  fs::create_directories(all / "fedcba9876543210");
  fs::last_write_time(all / "0123456789abcdef",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  write(folder());
  EXPECT_EQ(NamesIn(all).size(), 2U);
  EXPECT_TRUE(fs::exists(all / "fedcba9876543210"));
  EXPECT_EQ(Read(DerivedPlace::kService), "text");
}

TEST_F(DerivedFilesTest, TheServicesFolderHasABound) {
  const fs::path full = state_dir() / "derived/0123456789abcdef";
  fs::create_directories(full);
  fs::permissions(state_dir() / "derived", fs::perms(0700));
  std::ofstream(full / "dataset") << folder().string();
  std::ofstream(full / "ranks-1.bin").flush();
  fs::resize_file(full / "ranks-1.bin", kMostDerivedBytes);  // It has a hole.
  const auto write = [&] {
    return Files().Write(DerivedPlace::kService, "file",
                         {std::string_view("text")});
  };
  EXPECT_THAT(write(), ResourceExhausted("of at most 64.0 GiB"));
  EXPECT_EQ(Read(DerivedPlace::kService), "");
  fs::resize_file(full / "ranks-1.bin", kMostDerivedBytes / 2);
  FGNN_ASSERT_OK(write());
  EXPECT_EQ(Read(DerivedPlace::kService), "text");
}

// All that is kept with a dataset takes this way; rank orders are the largest.
TEST_F(DerivedFilesTest, ARankOrderIsFoundInTheServicesFolder) {
  std::ofstream(folder() / "derived") << "no folder";
  FGNN_ASSERT_OK_AND_ASSIGN(Dataset dataset,
                            Dataset::Open(folder(), Validation::kShapes));
  const std::vector<GlobalId> order = {2, 0, 3, 1};
  EXPECT_FALSE(RankOrder::Save(dataset, 7, order).ok());
  dataset.FindDerivedIn(state_dir());
  FGNN_ASSERT_OK(RankOrder::Save(dataset, 7, order));
  FGNN_ASSERT_OK_AND_ASSIGN(const RankOrder read, RankOrder::Open(dataset, 7));
  EXPECT_THAT(read.vertices(), ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(read.Hottest(2), ElementsAre(2, 0));
}

TEST_F(DerivedFilesTest, ARankOrderThatOthersMayWriteIsMadeAgain) {
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kShapes));
  const std::vector<GlobalId> order = {2, 0, 3, 1};
  FGNN_ASSERT_OK(RankOrder::Save(dataset, 7, order));
  fs::permissions(RankOrder::PathOf(dataset, 7), fs::perms::others_write,
                  fs::perm_options::add);
  EXPECT_THAT(RankOrder::Open(dataset, 7), NotFound());
}

}  // namespace
}  // namespace fgnn
