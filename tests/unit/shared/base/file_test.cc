#include "shared/base/files/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file_lines.h"
#include "shared/base/files/guarded_path.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST(WriteFileAtomicallyTest, ReplacesAFileAndLeavesNothingElse) {
  const TempFolder folder;
  const fs::path path = folder / "summary.json";
  FGNN_ASSERT_OK(WriteFileAtomically(path, "old"));
  FGNN_ASSERT_OK(WriteFileAtomically(path, std::string("new\0er", 6)));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string text, ReadSmallFile(path));
  EXPECT_EQ(text, std::string("new\0er", 6));
  EXPECT_THAT(NamesIn(folder.path()), testing::ElementsAre("summary.json"));
}

TEST(WriteFileAtomicallyTest, KeepsTheOldFileWhereItFails) {
  const TempFolder folder;
  const fs::path in_the_way = folder / "summary.json";
  fs::create_directory(in_the_way);  // rename() refuses to replace it.
  EXPECT_THAT(WriteFileAtomically(in_the_way, "new"),
              InvalidArgument(in_the_way.string()));
  EXPECT_TRUE(fs::is_directory(in_the_way));
  EXPECT_THAT(NamesIn(folder.path()), testing::ElementsAre("summary.json"));
}

TEST(WriteFileAtomicallyTest, NamesAFolderThatIsNotThere) {
  const TempFolder folder;
  const fs::path path = folder / "missing/file";
  EXPECT_THAT(WriteFileAtomically(path, "x"), NotFound(path.string()));
}

// Whenever a writer is killed, a reader sees a whole file: old or new.
TEST(WriteFileAtomicallyTest, AKilledWriterLeavesAWholeFile) {
  const TempFolder folder;
  const fs::path path = folder / "file";
  const std::string a(100'000, 'a');
  const std::string b(200'000, 'b');
  FGNN_ASSERT_OK(WriteFileAtomically(path, a));
  for (int round = 0; round < 20; ++round) {
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      for (int i = 0;; ++i) {
        if (!WriteFileAtomically(path, i % 2 == 0 ? b : a).ok()) ::_exit(1);
      }
    }
    for (int reads = 0; reads < 50; ++reads) {
      FGNN_ASSERT_OK_AND_ASSIGN(const std::string seen, ReadSmallFile(path));
      ASSERT_TRUE(seen == a || seen == b) << seen.size() << " bytes";
    }
    ::kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed";
  }
}

TEST(ReadSmallFileTest, RefusesFoldersLargeFilesAndWhatIsNotThere) {
  const TempFolder folder;
  EXPECT_THAT(ReadSmallFile(folder.path()), InvalidArgument());
  EXPECT_THAT(ReadSmallFile(folder / "none"), NotFound("none"));
  FGNN_ASSERT_OK(WriteFileAtomically(folder / "file", "12345"));
  EXPECT_THAT(ReadSmallFile(folder / "file", 5), IsOk());
  EXPECT_THAT(ReadSmallFile(folder / "file", 4), ResourceExhausted());
}

// The open of a FIFO would wait for a writer, and /dev/zero has no end.
TEST(PlainFilesTest, NothingElseIsOpened) {
  const TempFolder folder;
  const fs::path fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder / "zero");
  for (const fs::path& path : {fifo, folder / "zero", folder.path()}) {
    const auto is_refused = InvalidArgument(path.string(), "not a plain file");
    EXPECT_THAT(ReadSmallFile(path), is_refused);
    EXPECT_THAT(ReadFileEnd(path, 10), is_refused);
    EXPECT_THAT(MappedFile::Open(path), is_refused);
    EXPECT_THAT(FileLines::Open(path, 10), is_refused);
  }
}

TEST(PlainFilesTest, NothingIsWrittenThroughALink) {
  const TempFolder folder;
  FGNN_ASSERT_OK(WriteFileAtomically(folder / "other", "kept"));
  fs::create_symlink(folder / "other", folder / "link");
  fs::create_symlink(folder / "new", folder / "dangling");
  EXPECT_EQ(ReadSmallFile(folder / "link").value(), "kept");
  for (const char* name : {"link", "dangling"}) {
    EXPECT_THAT(OpenPlainFile(folder / name, O_RDWR | O_CREAT),
                InvalidArgument((folder / name).string(), "links"));
    EXPECT_THAT(FileLines::Open(folder / name, 10), InvalidArgument());
    EXPECT_THAT(ReadSmallFile(folder / name, 10, O_RDONLY | O_NOFOLLOW),
                InvalidArgument());
  }
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST(HeldFolderTest, StaysTheSameFolderUnderAnotherName) {
  const TempFolder folder;
  fs::create_directory(folder / "held");
  fs::create_directory(folder / "other");
  FGNN_ASSERT_OK_AND_ASSIGN(const HeldFolder held,
                            HeldFolder::Open(folder / "held"));
  fs::rename(folder / "held", folder / "moved");
  fs::create_symlink(folder / "other", folder / "held");
  FGNN_ASSERT_OK(WriteFileAtomically(held.path() / "file", "text"));
  EXPECT_EQ(ReadSmallFile(folder / "moved/file").value(), "text");
  EXPECT_TRUE(fs::is_empty(folder / "other"));
  const absl::Status missing =
      held.Named(ReadSmallFile(held.path() / "none").status());
  EXPECT_THAT(missing, NotFound((folder / "held/none").string()));
  EXPECT_EQ(held.Named(absl::InternalError(
                absl::StrCat("sync folder ", held.path().string(), ": why"))),
            absl::InternalError(absl::StrCat(
                "sync folder ", (folder / "held").string(), ": why")));
  EXPECT_THAT(HeldFolder::Open(folder / "held"),
              FailedPrecondition((folder / "held").string()));
}

TEST(RemoveTemporariesOfTest, RemovesTemporariesOfThisFileAlone) {
  const TempFolder folder;
  const fs::path kept[] = {folder / "file",
                           folder / "file.yaml",
                           folder / "file.sha512",
                           folder / "file.tmp-abcdefg",
                           folder / "other.tmp-abcdef",
                           folder / "file.tmp-folder"};
  for (const fs::path& path : kept) {
    if (path == kept[5]) {
      fs::create_directory(path);
    } else {
      FGNN_ASSERT_OK(WriteFileAtomically(path, "kept"));
    }
  }
  FGNN_ASSERT_OK(WriteFileAtomically(folder / "file.tmp-aB3xyz", "left"));
  FGNN_ASSERT_OK(RemoveTemporariesOf(folder / "file"));
  EXPECT_FALSE(fs::exists(folder / "file.tmp-aB3xyz"));
  for (const fs::path& path : kept) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_THAT(RemoveTemporariesOf(folder / "none" / "file"), NotFound());
}

TEST(RemoveTemporariesOfTest, RemovesWhatAKilledProcessLeft) {
  const TempFolder folder;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The second byte kills.
    const rlimit one_byte = {1, 1};
    ::setrlimit(RLIMIT_FSIZE, &one_byte);
    ::signal(SIGXFSZ, SIG_DFL);
    ::_exit(WriteFileAtomically(folder / "file", "ab").ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
  const auto left = *fs::directory_iterator(folder.path());
  EXPECT_TRUE(IsTemporaryName(left.path().filename().string())) << left;
  FGNN_ASSERT_OK(RemoveTemporariesOf(folder / "file"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(ReadFileEndTest, ReadsTheLastBytes) {
  const TempFolder folder;
  FGNN_ASSERT_OK(WriteFileAtomically(folder / "file", "12345"));
  EXPECT_EQ(ReadFileEnd(folder / "file", 2).value(), "45");
  EXPECT_EQ(ReadFileEnd(folder / "file", 5).value(), "12345");
  EXPECT_EQ(ReadFileEnd(folder / "file", 9).value(), "12345");
}

TEST(FileLinesTest, BeginsBehindTheBytesThatAreKnown) {
  const TempFolder folder;
  FGNN_ASSERT_OK(WriteFileAtomically(folder / "file", "one\ntwo\n"));
  FGNN_ASSERT_OK_AND_ASSIGN(FileLines file,
                            FileLines::Open(folder / "file", 10, 4));
  EXPECT_EQ(file.Next().value(), "two");
  EXPECT_EQ(file.Next().value(), std::nullopt);
}

TEST(FileLinesTest, ReadsLinesOneByOne) {
  const TempFolder folder;
  const std::string longest(40'000, 'x');
  FGNN_ASSERT_OK(
      WriteFileAtomically(folder / "file", "one\n\n" + longest + "\nlast"));
  FGNN_ASSERT_OK_AND_ASSIGN(FileLines file,
                            FileLines::Open(folder / "file", longest.size()));
  for (const std::string& line : {std::string("one"), std::string(), longest}) {
    EXPECT_EQ(file.Next().value(), line);
    EXPECT_TRUE(file.is_whole());
  }
  EXPECT_EQ(file.Next().value(), "last");
  EXPECT_FALSE(file.is_whole());
  EXPECT_EQ(file.Next().value(), std::nullopt);
  EXPECT_EQ(file.Next().value(), std::nullopt);
}

TEST(FileLinesTest, RefusesALongLine) {
  const TempFolder folder;
  FGNN_ASSERT_OK(WriteFileAtomically(folder / "file", "one\n12345\n"));
  FGNN_ASSERT_OK_AND_ASSIGN(FileLines file,
                            FileLines::Open(folder / "file", 4));
  EXPECT_EQ(file.Next().value(), "one");
  EXPECT_THAT(file.Next(), ResourceExhausted("more than 4 bytes"));
}

TEST(MappedFileTest, ShowsTheBytesAndMovesOnce) {
  const TempFolder folder;
  FGNN_ASSERT_OK(WriteFileAtomically(folder / "file", "abc"));
  FGNN_ASSERT_OK_AND_ASSIGN(MappedFile file, MappedFile::Open(folder / "file"));
  const MappedFile moved = std::move(file);
  ASSERT_EQ(moved.bytes().size(), 3U);
  EXPECT_EQ(moved.bytes()[2], std::byte{'c'});
  EXPECT_TRUE(file.bytes().empty());  // NOLINT(bugprone-use-after-move)
}

TEST(MappedFileTest, AnEmptyFileIsAnEmptySpan) {
  const TempFolder folder;
  FGNN_ASSERT_OK(WriteFileAtomically(folder / "file", ""));
  FGNN_ASSERT_OK_AND_ASSIGN(const MappedFile file,
                            MappedFile::Open(folder / "file"));
  EXPECT_TRUE(file.bytes().empty());
}

TEST(MappedFileTest, RefusesWhatIsNotAPlainFileWithoutWaitingForIt) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::Open(folder / "fifo"), InvalidArgument("fifo"));
  EXPECT_THAT(MappedFile::Open(folder.path()), InvalidArgument());
  EXPECT_THAT(MappedFile::Open(folder / "none"), NotFound());
}

}  // namespace
}  // namespace fgnn
