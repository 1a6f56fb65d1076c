// A trainer whose dataset's folder has a part of the rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/trainer_service/daemon/training_job_fixture.h"
#include "tests/unit/trainer_service/features/partitioned_rows.h"
#include "trainer_service/features/cpu/open_feature_store.h"

namespace fgnn {
namespace {

class HostFolderJobTest : public TrainingJobTest {
 protected:
  void SetUp() override {
    TrainingJobTest::SetUp();
    CutInTwo(folder_ / "data", folder_ / "hosts");
  }

  // Lets the next job of host 0 ask these hosts.
  void LinkTo(std::vector<std::shared_ptr<ServedRows>> served) {
    prepare_ = [this, served = std::move(served)](TrainerBackend& backend) {
      auto links = std::make_unique<FakeRowLinks>(served);
      links_ = links.get();
      backend.partitioned()->Link({.links = std::move(links),
                                   .hosts = NamedHosts(served.size(), 0),
                                   .totals = &totals_});
    };
  }
  std::shared_ptr<ServedRows> Host1() {
    JobSpec spec = SmallJob(folder_ / "hosts/host1");
    spec.features.wire = wire_;
    return ServedRows::Open(spec, OpenFeatureStore, &sent_).value();
  }
  std::vector<float> Weights() const {
    return {board_->weights(6).begin(), board_->weights(6).end()};
  }

  FakeRowLinks* links_ = nullptr;
  SentRows sent_;
  RemoteTotals totals_;
};

TEST_F(HostFolderJobTest, WeightsAndScoresAreThoseOfTheWholeDataset) {
  std::vector<float> weights;
  double loss = 0;
  std::set<double> losses;
  for (const int run : {0, 1, 2, 3, 4, 5}) {
    wire_ = std::vector<std::string>{"stored", "f16", "bf16"}[run / 2];
    const bool is_whole = run % 2 == 0;
    UseSegment(SmallSegmentOptions(kJobId));
    if (is_whole) {
      prepare_ = nullptr;
    } else {
      LinkTo({nullptr, Host1()});
    }
    const std::unique_ptr<TrainingJob> job =
        Attach(folder_ / (is_whole ? "data" : "hosts/host0"));
    TrainThrough(0);
    TrainThrough(1);
    FGNN_ASSERT_OK_AND_ASSIGN(const Evaluation evaluation,
                              job->Evaluate(Query({"test"}), Patient()));
    if (is_whole) {
      weights = Weights();
      loss = evaluation.scores[0].loss;
      losses.insert(loss);
    } else {
      EXPECT_EQ(Weights(), weights);
      EXPECT_EQ(evaluation.scores[0].loss, loss);
    }
  }
  EXPECT_EQ(losses.size(), 3U);  // Rounding shows.
  EXPECT_GT(sent_.rows, 0U);
  EXPECT_EQ(totals_.OfHosts().at("host1").rows, sent_.rows);
}

// The loop itself extracts, since nothing is extracted ahead.
TEST_F(HostFolderJobTest, AWaitForAnotherHostIsProgressAndEndsWithTheJob) {
  LinkTo({nullptr, nullptr});
  std::unique_ptr<TrainingJob> job = Attach(folder_ / "hosts/host0");
  queue_->OpenForSampling(BatchSeq(7));
  board_->OpenForTraining(StepNumber(3));
  const Deadline end = DeadlineIn(std::chrono::seconds(120));
  while (links_->breaks() < 3) {
    ASSERT_LT(MonotonicClock::now(), end);
    SampleNext(&*sampler_, segment_->options().job_key);
    std::this_thread::yield();
  }
  const uint64_t before = job->progress();
  while (job->progress() < before + 3) {
    ASSERT_LT(MonotonicClock::now(), end);
    std::this_thread::yield();
  }
  // A scheduler that has lost the host wants a checkpoint.
  const fs::path path = folder_ / "epoch-0000.safetensors";
  FGNN_ASSERT_OK(job->SaveCheckpoint(
      Saving(path, /*epochs_done=*/0, /*version=*/0), Patient()));
  EXPECT_TRUE(fs::exists(path));
  job->Stop();
  job.reset();
  EXPECT_FALSE(failed_.HasBeenNotified());
}

}  // namespace
}  // namespace fgnn
