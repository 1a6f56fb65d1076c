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

#include "shared/base/status.h"
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
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<CscBuilder> builder,
                        CscBuilder::Create(writer.folder(), {}));
  FGNN_RETURN_IF_ERROR(builder->Add(0, 1));
  FGNN_RETURN_IF_ERROR(builder->Finish(3, nullptr).status());
  FGNN_RETURN_IF_ERROR(writer.WriteLabels(std::vector<int64_t>{0, 1, -1}));
  return writer.WriteSplit("train", std::vector<int64_t>{1});
}

DatasetMetadata MetadataOfFill() {
  DatasetMetadata metadata;
  metadata.num_nodes = 3;
  metadata.num_edges = 1;
  metadata.num_classes = 2;
  return metadata;
}

// Makes and commits the dataset that Fill() fills.
absl::Status MakeDataset(const fs::path& out) {
  FGNN_ASSIGN_OR_RETURN(DatasetWriter writer, DatasetWriter::Create(out));
  FGNN_RETURN_IF_ERROR(Fill(writer));
  return writer.Commit(MetadataOfFill());
}

class DatasetWriterTest : public testing::Test {
 protected:
  const TempFolder parent_;
  const fs::path out_ = parent_ / "data";
};

TEST_F(DatasetWriterTest, MakesAFolderThatOpens) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer,
                              DatasetWriter::Create(out_));
    EXPECT_FALSE(fs::exists(out_));
    FGNN_ASSERT_OK(Fill(writer));
    FGNN_ASSERT_OK(writer.Commit(MetadataOfFill()));
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(out_, Validation::kEverything));
  EXPECT_EQ(dataset.name(), "data");
  EXPECT_THAT(dataset.labels(), ElementsAre(0, 1, -1));
  EXPECT_THAT(dataset.train(), ElementsAre(1));
  EXPECT_THAT(FilesIn(parent_.path()), ElementsAre("data"));
}

TEST_F(DatasetWriterTest, LeavesNothingUnlessCommitted) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(
        DatasetWriter writer,
        DatasetWriter::Create(parent_ / "new" / "deep" / "data"));
    FGNN_ASSERT_OK(Fill(writer));
    EXPECT_TRUE(fs::exists(parent_ / "new" / "deep"));
  }
  EXPECT_THAT(FilesIn(parent_.path()), IsEmpty());
}

TEST_F(DatasetWriterTest, KeepsParentsThatItMadeWhenCommitted) {
  FGNN_ASSERT_OK(MakeDataset(parent_ / "a" / "b/"));
  EXPECT_TRUE(fs::exists(parent_ / "a" / "b" / "metadata.yaml"));
}

TEST_F(DatasetWriterTest, ReplacesAnEmptyFolderAndNoOther) {
  fs::create_directory(out_);
  FGNN_ASSERT_OK(MakeDataset(out_));
  EXPECT_THAT(DatasetWriter::Create(out_),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("data"), HasSubstr("--out"))));
  std::ofstream(parent_ / "file") << "x";
  EXPECT_THAT(DatasetWriter::Create(parent_ / "file"),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(DatasetWriter::Create(parent_ / "file" / "data"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(FilesIn(parent_.path()), ElementsAre("data", "file"));
}

TEST_F(DatasetWriterTest, RefusesToCommitWhatDoesNotValidate) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer,
                              DatasetWriter::Create(out_));
    FGNN_ASSERT_OK(Fill(writer));
    DatasetMetadata metadata = MetadataOfFill();
    metadata.num_classes = 1;
    EXPECT_THAT(writer.Commit(metadata),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr((out_ / "labels.npy").string()),
                               Not(HasSubstr("partial")))));
  }
  EXPECT_THAT(FilesIn(parent_.path()), IsEmpty());
}

TEST_F(DatasetWriterTest, LeavesAnotherDatasetAloneThatCameFirst) {
  FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer, DatasetWriter::Create(out_));
  FGNN_ASSERT_OK(Fill(writer));
  fs::create_directory(out_);
  std::ofstream(out_ / "theirs") << "x";
  EXPECT_FALSE(writer.Commit(MetadataOfFill()).ok());
  EXPECT_THAT(FilesIn(out_), ElementsAre("theirs"));
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

TEST_F(DatasetWriterTest, ClearsWhatAKilledWriterLeftButNothingOfALiveOne) {
  KilledWriter other(out_);
  { FGNN_ASSERT_OK(DatasetWriter::Create(out_).status()); }
  EXPECT_EQ(FilesIn(parent_.path()).size(), 1U);  // The live one's.
  other.Kill();
  EXPECT_EQ(FilesIn(parent_.path()).size(), 1U);
  // A dataset of another name is not concerned.
  { FGNN_ASSERT_OK(DatasetWriter::Create(parent_ / "dat").status()); }
  EXPECT_EQ(FilesIn(parent_.path()).size(), 1U);
  { FGNN_ASSERT_OK(DatasetWriter::Create(out_).status()); }
  EXPECT_THAT(FilesIn(parent_.path()), IsEmpty());
}

TEST_F(DatasetWriterTest, RefusesNamesThatAreNone) {
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
                            FGNN_RETURN_IF_ERROR(Fill(writer));
                            return writer.Commit(MetadataOfFill());
                          }),
              testing::ExitedWithCode(128 + SIGINT),
              Not(HasSubstr("interrupted")));
  EXPECT_THAT(FilesIn(parent.path()), ElementsAre("data"));
}

TEST_F(DatasetWriterTest, WithoutTheCleanupASignalDoesWhatItDidBefore) {
  { const InterruptCleanup interrupt; }
  sigset_t blocked;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
  EXPECT_EQ(::sigismember(&blocked, SIGINT), 0);
  EXPECT_EQ(::sigismember(&blocked, SIGTERM), 0);
}

}  // namespace
}  // namespace fgnn
