#include "tools/dataset/building/dataset_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tools/dataset/building/csc_builder.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

std::vector<std::string> FilesIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Three vertices, one edge, labels and splits.
absl::Status Fill(DatasetWriter& writer) {
  absl::StatusOr<std::unique_ptr<CscBuilder>> builder =
      CscBuilder::Create(writer.folder(), {});
  if (!builder.ok()) return builder.status();
  if (absl::Status s = (*builder)->Add(0, 1); !s.ok()) return s;
  if (absl::Status s = (*builder)->Finish(3, nullptr).status(); !s.ok()) {
    return s;
  }
  const std::vector<int64_t> labels = {0, 1, -1};
  if (absl::Status s = writer.WriteLabels(labels); !s.ok()) return s;
  const std::vector<int64_t> train = {1};
  return writer.WriteSplit("train", train);
}

DatasetMetadata MetadataOfFill() {
  DatasetMetadata metadata;
  metadata.num_nodes = 3;
  metadata.num_edges = 1;
  metadata.num_classes = 2;
  return metadata;
}

TEST(DatasetWriterTest, MakesAFolderThatOpens) {
  const TempFolder parent;
  const fs::path out = parent / "data";
  {
    FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer, DatasetWriter::Create(out));
    EXPECT_FALSE(fs::exists(out));
    FGNN_ASSERT_OK(Fill(writer));
    FGNN_ASSERT_OK(writer.Commit(MetadataOfFill()));
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(out, Validation::kEverything));
  EXPECT_EQ(dataset.name(), "data");
  EXPECT_THAT(dataset.labels(), ElementsAre(0, 1, -1));
  EXPECT_THAT(dataset.train(), ElementsAre(1));
  EXPECT_THAT(FilesIn(parent.path()), ElementsAre("data"));
}

TEST(DatasetWriterTest, LeavesNothingUnlessCommitted) {
  const TempFolder parent;
  {
    FGNN_ASSERT_OK_AND_ASSIGN(
        DatasetWriter writer,
        DatasetWriter::Create(parent / "new" / "deep" / "data"));
    FGNN_ASSERT_OK(Fill(writer));
    EXPECT_TRUE(fs::exists(parent / "new" / "deep"));
  }
  EXPECT_THAT(FilesIn(parent.path()), IsEmpty());
}

TEST(DatasetWriterTest, KeepsParentsThatItMadeWhenCommitted) {
  const TempFolder parent;
  {
    FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer,
                              DatasetWriter::Create(parent / "a" / "b/"));
    FGNN_ASSERT_OK(Fill(writer));
    FGNN_ASSERT_OK(writer.Commit(MetadataOfFill()));
  }
  EXPECT_TRUE(fs::exists(parent / "a" / "b" / "metadata.yaml"));
}

TEST(DatasetWriterTest, ReplacesAnEmptyFolderAndNoOther) {
  const TempFolder parent;
  fs::create_directory(parent / "data");
  {
    FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer,
                              DatasetWriter::Create(parent / "data"));
    FGNN_ASSERT_OK(Fill(writer));
    FGNN_ASSERT_OK(writer.Commit(MetadataOfFill()));
  }
  EXPECT_THAT(DatasetWriter::Create(parent / "data"),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("data"), HasSubstr("--out"))));
  std::ofstream(parent / "file") << "x";
  EXPECT_THAT(DatasetWriter::Create(parent / "file"),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(DatasetWriter::Create(parent / "file" / "data"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(FilesIn(parent.path()), ElementsAre("data", "file"));
}

TEST(DatasetWriterTest, RefusesToCommitWhatDoesNotValidate) {
  const TempFolder parent;
  const fs::path out = parent / "data";
  {
    FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer, DatasetWriter::Create(out));
    FGNN_ASSERT_OK(Fill(writer));
    DatasetMetadata metadata = MetadataOfFill();
    metadata.num_classes = 1;
    EXPECT_THAT(writer.Commit(metadata),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr((out / "labels.npy").string()),
                               Not(HasSubstr("partial")))));
  }
  EXPECT_THAT(FilesIn(parent.path()), IsEmpty());
}

TEST(DatasetWriterTest, LeavesAnotherDatasetAloneThatCameFirst) {
  const TempFolder parent;
  const fs::path out = parent / "data";
  FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer, DatasetWriter::Create(out));
  FGNN_ASSERT_OK(Fill(writer));
  fs::create_directory(out);
  std::ofstream(out / "theirs") << "x";
  EXPECT_FALSE(writer.Commit(MetadataOfFill()).ok());
  EXPECT_THAT(FilesIn(out), ElementsAre("theirs"));
}

// Runs `body` in a child that is killed once it said that it is ready, or
// waits to be killed.
class KilledWriter {
 public:
  explicit KilledWriter(const fs::path& out) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      absl::StatusOr<DatasetWriter> writer = DatasetWriter::Create(out);
      const char said = writer.ok() && Fill(*writer).ok() ? 'y' : 'n';
      if (::write(ready[1], &said, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char said = 'n';
    EXPECT_EQ(::read(ready[0], &said, 1), 1);
    EXPECT_EQ(said, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~KilledWriter() { Kill(); }

  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

TEST(DatasetWriterTest, ClearsWhatAKilledWriterLeftButNothingOfALiveOne) {
  const TempFolder parent;
  const fs::path out = parent / "data";
  KilledWriter other(out);
  { FGNN_ASSERT_OK(DatasetWriter::Create(out).status()); }
  EXPECT_EQ(FilesIn(parent.path()).size(), 1U);  // The live one's.
  other.Kill();
  EXPECT_EQ(FilesIn(parent.path()).size(), 1U);
  // A dataset of another name is not concerned.
  { FGNN_ASSERT_OK(DatasetWriter::Create(parent / "dat").status()); }
  EXPECT_EQ(FilesIn(parent.path()).size(), 1U);
  { FGNN_ASSERT_OK(DatasetWriter::Create(out).status()); }
  EXPECT_THAT(FilesIn(parent.path()), IsEmpty());
}

TEST(DatasetWriterTest, RefusesNamesThatAreNone) {
  for (const char* out : {"", "/"}) {
    EXPECT_FALSE(DatasetWriter::Create(out).ok()) << out;
  }
}

std::vector<int64_t> EveryThirdUnlabelled(size_t count) {
  std::vector<int64_t> labels(count);
  for (size_t v = 0; v < count; ++v) {
    labels[v] = v % 3 == 2 ? -1 : static_cast<int64_t>(v % 5);
  }
  return labels;
}

TEST(MakeSplitsTest, PartsTheLabelledVerticesIntoSharesThatAscend) {
  const std::vector<int64_t> labels = EveryThirdUnlabelled(3000);
  const Splits splits = MakeSplits(labels, 0.5, 1);
  EXPECT_EQ(splits.train.size(), 1000U);
  EXPECT_EQ(splits.valid.size(), 500U);
  EXPECT_EQ(splits.test.size(), 500U);
  std::vector<int64_t> all;
  for (const auto* part : {&splits.train, &splits.valid, &splits.test}) {
    EXPECT_TRUE(std::is_sorted(part->begin(), part->end()));
    all.insert(all.end(), part->begin(), part->end());
  }
  std::sort(all.begin(), all.end());
  std::vector<int64_t> labelled;
  for (size_t v = 0; v < labels.size(); ++v) {
    if (labels[v] >= 0) labelled.push_back(static_cast<int64_t>(v));
  }
  EXPECT_EQ(all, labelled);
}

TEST(MakeSplitsTest, DependsOnTheSeedAlone) {
  const std::vector<int64_t> labels = EveryThirdUnlabelled(3000);
  EXPECT_EQ(MakeSplits(labels, 0.1, 7).train, MakeSplits(labels, 0.1, 7).train);
  EXPECT_NE(MakeSplits(labels, 0.1, 7).train, MakeSplits(labels, 0.1, 8).train);
}

TEST(MakeSplitsTest, TakesAllNoneAndNothing) {
  const std::vector<int64_t> labels = EveryThirdUnlabelled(30);
  EXPECT_EQ(MakeSplits(labels, 1, 1).train.size(), 20U);
  EXPECT_THAT(MakeSplits(labels, 1, 1).valid, IsEmpty());
  EXPECT_THAT(MakeSplits(labels, 0, 1).train, IsEmpty());
  EXPECT_EQ(MakeSplits(labels, 0, 1).test.size(), 10U);
  EXPECT_THAT(MakeSplits({}, 0.5, 1).test, IsEmpty());
}

// A share of a part of the ids, not of their beginning.
TEST(MakeSplitsTest, SpreadsOverAllIds) {
  const std::vector<int64_t> labels(10'000, 0);
  const Splits splits = MakeSplits(labels, 0.5, 1);
  const auto low = std::count_if(splits.train.begin(), splits.train.end(),
                                 [](int64_t v) { return v < 5000; });
  // Five standard deviations of a hypergeometric draw are 125.
  EXPECT_NEAR(static_cast<double>(low), 2500, 125);
}

// Runs `work` with a writer of `out`, then raises `signal` in this process and
// waits for its end.
template <typename Work>
[[noreturn]] void RunAndRaise(const fs::path& out, int signal, Work work) {
  ::alarm(60);  // Otherwise it would wait for ever for what does not come.
  InterruptCleanup interrupt;
  absl::StatusOr<DatasetWriter> writer = DatasetWriter::Create(out, &interrupt);
  if (!writer.ok() || !work(*writer).ok()) ::_exit(1);
  ::kill(::getpid(), signal);
  while (true) ::pause();
}

TEST(DatasetWriterDeathTest, ASignalLeavesNothingOfAnUnfinishedDataset) {
  const TempFolder parent;
  const fs::path out = parent / "new" / "deep" / "data";
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(RunAndRaise(out, signal, Fill),
                testing::ExitedWithCode(128 + signal),
                "interrupted; .*deep/data was not made");
    EXPECT_THAT(FilesIn(parent.path()), IsEmpty());
  }
}

TEST(DatasetWriterDeathTest, ASignalLeavesAWholeDataset) {
  const TempFolder parent;
  EXPECT_EXIT(RunAndRaise(parent / "data", SIGINT,
                          [](DatasetWriter& writer) {
                            if (absl::Status s = Fill(writer); !s.ok())
                              return s;
                            return writer.Commit(MetadataOfFill());
                          }),
              testing::ExitedWithCode(128 + SIGINT),
              Not(HasSubstr("interrupted")));
  EXPECT_THAT(FilesIn(parent.path()), ElementsAre("data"));
}

TEST(DatasetWriterTest, WithoutTheCleanupASignalDoesWhatItDidBefore) {
  { const InterruptCleanup interrupt; }
  sigset_t blocked;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_EQ(::sigismember(&blocked, SIGINT), 0);
  EXPECT_EQ(::sigismember(&blocked, SIGTERM), 0);
}

}  // namespace
}  // namespace fgnn
