#include "trainer_service/commands/bench_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/backend/cpu_factory.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/compute/scratch.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

constexpr size_t kBlockFloats = 1 << 14;

class BenchCommandTest : public testing::Test {
 protected:
  BenchCommandTest() {
    WriteSmallDataset(folder_ / "graph");
    std::filesystem::create_directory(tasks_);
  }

  void WriteTasks(BatchSeq count, uint64_t job_key = 0) {
    Scratch<float> memory;
    auto* const block =
        reinterpret_cast<std::byte*>(memory.Reserve(kBlockFloats));
    const size_t bytes = kBlockFloats * sizeof(float);
    for (BatchSeq seq(0); seq < count; ++seq) {
      FGNN_ASSERT_OK(WriteMadeUpTask({block, bytes}, job_key, seq));
      FGNN_ASSERT_OK(WriteFileAtomically(
          tasks_ / absl::StrCat("task-", seq.value()),
          std::string_view(reinterpret_cast<const char*>(block), bytes)));
    }
  }

  absl::StatusOr<std::vector<TrainingRound>> Bench() {
    return BenchTraining(SmallJob(folder_ / "graph"), tasks_, /*num_rounds=*/2,
                         /*num_threads=*/2, CpuFactory());
  }

  const TempFolder folder_;
  const std::filesystem::path tasks_ = folder_ / "tasks";
};

TEST_F(BenchCommandTest, SaysWhatEachRoundTook) {
  WriteTasks(BatchSeq(3));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<TrainingRound> rounds, Bench());
  ASSERT_EQ(rounds.size(), 2U);
  for (const TrainingRound& round : rounds) {
    EXPECT_GT(round.extract, 0);
    EXPECT_GT(round.train, 0);
    EXPECT_GT(round.sync, 0);
  }
}

TEST_F(BenchCommandTest, NamesTheTaskThatIsMissingOrDamaged) {
  EXPECT_THAT(Bench(), StatusIs(absl::StatusCode::kNotFound,
                                HasSubstr((tasks_ / "task-0").string())));
  WriteTasks(BatchSeq(2), /*job_key=*/7);
  EXPECT_THAT(Bench(), StatusIs(absl::StatusCode::kDataLoss,
                                HasSubstr((tasks_ / "task-0").string())));
}

}  // namespace
}  // namespace fgnn
