// A job whose first layer reads features where they lie, beside the same job
// trained from copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/status.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/daemon/job_trainer.h"
#include "trainer_service/sync/board_exchange.h"

namespace fgnn {
namespace {

constexpr uint64_t kSteps = 6;
constexpr uint64_t kRowsBatches = 14;
constexpr OwnerIndex kRowsTrainer{2};

class StoredRowsJobTest : public testing::Test {
 protected:
  StoredRowsJobTest() { WriteSmallDataset(folder_ / "data"); }

  void StartOver() {
    FGNN_ASSERT_OK_AND_ASSIGN(segment_,
                              Segment::Create(SmallSegmentOptions("job")));
    sampler_.emplace(segment_.get(), kSamplerOwner, 0);
    board_.emplace(segment_.get(), kRowsTrainer);
    GlobalQueue(segment_.get(), kNoOwner)
        .OpenForSampling(BatchSeq(kRowsBatches));
    GradientBoard(segment_.get(), kNoOwner).OpenForTraining(StepNumber(kSteps));
    FGNN_ASSERT_OK_AND_ASSIGN(
        backend_, CpuBackend::OpenForJob(SmallJob(folder_ / "data"), 2));
  }

  // Calls work() and samples in turns until the last step is published.
  template <typename Work>
  std::vector<float> TrainBy(Work work) {
    while (board_->version().value_or(0) < kSteps) {
      SampleNext(&*sampler_, segment_->options().job_key);
      const absl::Status status = work();
      EXPECT_THAT(status, IsOk());
      if (!status.ok()) return {};
    }
    const absl::Span<const float> weights = board_->weights(kSteps);
    return {weights.begin(), weights.end()};
  }

  // A step, or a batch from copies of its features, as JobTrainer would.
  absl::Status TrainOneFromCopies() {
    const JobSpec spec = SmallJob(folder_ / "data");
    FGNN_ASSIGN_OR_RETURN(const bool stepped,
                          BoardExchange(segment_.get(), kRowsTrainer)
                              .TryStep([&](const StepTensors& step) {
                                return backend_->Step(
                                    spec.training.seed,
                                    OptimizerOf(spec.training), step);
                              }));
    if (stepped) return absl::OkStatus();
    GlobalQueue queue(segment_.get(), kRowsTrainer);
    const BatchRange open =
        segment_->shape().BatchesOfStep(StepNumber(*board_->version()));
    FGNN_ASSIGN_OR_RETURN(std::optional<ReadSlot> slot,
                          queue.TryClaimForReading(BatchSeq(0), open.end));
    if (!slot.has_value()) return absl::OkStatus();
    FGNN_ASSIGN_OR_RETURN(const TaskView task,
                          ReadTask(slot->block(), segment_->options().job_key));
    FGNN_RETURN_IF_ERROR(GradientFromCopies(task, spec.training.seed));
    BatchRecord record;
    record.num_seeds = task.num_seeds;
    record.batch_examples = task.num_seeds;
    FGNN_RETURN_IF_ERROR(board_->MarkDone({task.seq}, record));
    return (*std::move(slot)).Release();
  }

  absl::Status GradientFromCopies(const TaskView& task, uint64_t seed) {
    Scratch<float> memory;
    const size_t size = task.input_nodes.size() * 6;
    float* const features = memory.Reserve(size);
    FGNN_RETURN_IF_ERROR(
        backend_->host().features().CopyRows(task.input_nodes, features));
    std::vector<int64_t> labels;
    for (const GlobalId vertex : task.seeds()) {
      labels.push_back(backend_->dataset().labels()[vertex]);
    }
    const JobShape& shape = segment_->shape();
    const BatchPlace place = shape.PlaceInEpoch(task.seq);
    TrainingBatch batch;
    batch.task = &task;
    batch.features = absl::MakeSpan(features, size);
    batch.labels = labels;
    batch.seed = seed;
    batch.epoch = place.epoch;
    batch.batch = place.batch;
    return backend_->host()
        .model()
        .Gradient(board_->weights(shape.StepOf(task.seq).value()), batch,
                  board_->gradient({task.seq}))
        .status();
  }

  TempFolder folder_;
  std::unique_ptr<Segment> segment_;
  std::optional<GlobalQueue> sampler_;
  std::optional<GradientBoard> board_;
  std::unique_ptr<CpuBackend> backend_;
};

TEST_F(StoredRowsJobTest, HasTheWeightsOfAJobThatIsTrainedFromCopies) {
  StartOver();
  const std::vector<float> expected =
      TrainBy([this] { return TrainOneFromCopies(); });
  // BatchSourceTest shows that these are given stored rows.
  StartOver();
  BoardExchange steps(segment_.get(), kRowsTrainer);
  JobTrainer trainer(SmallJob(folder_ / "data"), backend_.get(), &steps,
                     segment_.get(), kRowsTrainer);
  const std::vector<float> weights =
      TrainBy([&trainer] { return trainer.DoNext().status(); });
  EXPECT_EQ(trainer.batches(), kRowsBatches);
  ASSERT_EQ(weights.size(), expected.size());
  EXPECT_EQ(0, std::memcmp(weights.data(), expected.data(),
                           weights.size() * sizeof(float)));
}

}  // namespace
}  // namespace fgnn
