#include "trainer_service/backend/cpu/host_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"

namespace fgnn {
namespace {

class HostModelTest : public testing::Test {
 protected:
  HostModelTest() {
    WriteSmallDataset(folder_ / "data");
    options_.input_columns = kSmallColumns;
    options_.num_classes = kSmallClasses;
  }

  TempFolder folder_;
  ModelOptions options_;
};

TEST_F(HostModelTest, ReadsFeaturesWhereTheJobSays) {
  JobSpec spec = SmallJob(folder_ / "data");
  spec.features.store = "memory";
  FGNN_ASSERT_OK_AND_ASSIGN(const auto in_memory,
                            HostModel::OpenForJob(spec, 1));
  EXPECT_NE(in_memory->features().data(), nullptr);
  spec.features.store = "disk";
  FGNN_ASSERT_OK_AND_ASSIGN(const auto on_disk, HostModel::OpenForJob(spec, 1));
  EXPECT_EQ(on_disk->features().data(), nullptr);
}

TEST_F(HostModelTest, RoundsFeaturesAsTheJobSays) {
  JobSpec spec = SmallJob(folder_ / "data");
  for (const std::string store : {"memory", "disk"}) {
    spec.features.store = store;
    spec.features.wire = "bf16";
    FGNN_ASSERT_OK_AND_ASSIGN(const auto rounded,
                              HostModel::OpenForJob(spec, 1));
    EXPECT_EQ(rounded->features().type(), FeatureType::kBfloat16);
    spec.features.wire = "stored";
    FGNN_ASSERT_OK_AND_ASSIGN(const auto stored,
                              HostModel::OpenForJob(spec, 1));
    EXPECT_EQ(stored->features().type(), FeatureType::kFloat32);
  }
}

TEST_F(HostModelTest, RefusesADatasetOfAnotherWidth) {
  ++options_.input_columns;
  EXPECT_THAT(HostModel::OpenForModel(folder_ / "data", options_, 1),
              InvalidArgument("has 6 feature columns; the model takes 7"));
}

TEST_F(HostModelTest, HasThreadsForEachThreadOfTheTrainer) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto host, HostModel::OpenForModel(folder_ / "data", options_, 3));
  ThreadTeam& loop = host->team(TrainerThread::kLoop);
  ThreadTeam& ahead = host->team(TrainerThread::kAhead);
  ahead.CountTask();
  EXPECT_EQ(ahead.tasks_begun(), 1U);
  EXPECT_EQ(loop.tasks_begun(), 0U);
  EXPECT_EQ(host->ForInference({}).team, &loop);
}

}  // namespace
}  // namespace fgnn
