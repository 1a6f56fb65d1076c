// Gradients and jobs on the device, beside those of the CPU.
#include <cmath>
#include <thread>

#include "tests/unit/trainer_service/backend/cuda/cuda_backend_fixture.h"
#include "trainer_service/daemon/job_trainer.h"
#include "trainer_service/sync/board_exchange.h"

namespace fgnn {
namespace {

constexpr OwnerIndex kTrainer{2};
constexpr uint64_t kJobSteps = 6;

class CudaTrainingTest : public CudaBackendTest {
 protected:
  // Largest difference, in parts of the largest number.
  static double DifferenceOf(const std::vector<float>& a,
                             const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    if (a.size() != b.size()) return INFINITY;
    double largest = 0;
    double difference = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      largest = std::max<double>(largest, std::abs(a[i]));
      difference = std::max<double>(difference, std::abs(a[i] - b[i]));
    }
    EXPECT_GT(largest, 0);
    return difference / largest;
  }

  // Trains the whole job and returns its weights.
  std::vector<float> Train(TrainerBackend* backend, uint32_t ahead) {
    const std::unique_ptr<Segment> segment =
        Segment::Create(SmallSegmentOptions("job")).value();
    GlobalQueue sampler(segment.get(), kSamplerOwner, 0);
    GlobalQueue(segment.get(), kNoOwner).OpenForSampling(BatchSeq(14));
    GradientBoard board(segment.get(), kNoOwner);
    board.OpenForTraining(StepNumber(kJobSteps));
    BoardExchange steps(segment.get(), kTrainer);
    spec_.features.ahead = ahead;
    JobTrainer trainer(spec_, backend, &steps, segment.get(), kTrainer);
    const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
    while (board.version().value_or(0) != kJobSteps) {
      EXPECT_LT(MonotonicClock::now(), deadline);
      if (MonotonicClock::now() >= deadline) return {};
      SampleNext(&sampler, segment->options().job_key, &*order_);
      const absl::Status trained = trainer.DoNext().status();
      EXPECT_THAT(trained, IsOk());
      if (!trained.ok()) return {};
    }
    const absl::Span<const float> weights = board.weights(kJobSteps);
    return {weights.begin(), weights.end()};
  }
};

TEST_F(CudaTrainingTest, HasTheGradientsOfTheCpu) {
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(40)));
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const std::unique_ptr<TaskFeatures> on_cpu = cpu_->NewFeatures();
  for (uint64_t seq = 0; seq < 8; ++seq) {
    SCOPED_TRACE(seq);
    const auto task = MakeTask(seq);
    FGNN_ASSERT_OK(
        cpu_->Extract(task->view, nullptr, TrainerThread::kLoop, on_cpu.get())
            .status());
    FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
    std::vector<float> expected;
    std::vector<float> gradient;
    FGNN_ASSERT_OK_AND_ASSIGN(
        const BatchResult cpu,
        Gradient(*cpu_, task->view, on_cpu.get(), &expected));
    FGNN_ASSERT_OK_AND_ASSIGN(
        const BatchResult cuda,
        Gradient(*cuda_, task->view, features.get(), &gradient));
    EXPECT_LT(DifferenceOf(expected, gradient), 1e-5);
    EXPECT_NEAR(cuda.loss, cpu.loss, 1e-5);
    EXPECT_EQ(cuda.num_correct, cpu.num_correct);
    std::vector<float> again;
    FGNN_ASSERT_OK(
        Extract(task->view, features.get(), TrainerThread::kAhead).status());
    FGNN_ASSERT_OK(
        Gradient(*cuda_, task->view, features.get(), &again).status());
    EXPECT_EQ(again, gradient);
  }
}

TEST_F(CudaTrainingTest, WaitsAFixedNumberOfTimesABatch) {
  Open();
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  for (uint64_t seq = 0; seq < 4; ++seq) {
    const auto task = MakeTask(seq);
    const uint64_t before = simt::GetFakeCounts().waits;
    FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
    std::vector<float> gradient;
    FGNN_ASSERT_OK(
        Gradient(*cuda_, task->view, features.get(), &gradient).status());
    // For the features and for the gradient; and for the end of the object's
    // task before, which is past.
    EXPECT_LE(simt::GetFakeCounts().waits - before, 3U);
  }
}

TEST_F(CudaTrainingTest, TrainsAJobAsTheCpuDoes) {
  Open();
  const std::vector<float> expected = Train(cpu_.get(), 0);
  std::vector<float> first;
  for (const uint32_t ahead : {0U, 2U}) {
    SCOPED_TRACE(ahead);
    SetDevice(kMemory, 1 + ahead);
    Open();
    FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(40)));
    const std::vector<float> weights = Train(cuda_.get(), ahead);
    EXPECT_LT(DifferenceOf(expected, weights), 1e-3);
    if (first.empty()) first = weights;
    EXPECT_EQ(weights, first);  // In every bit.
  }
}

// Beside a gradient, the thread that works ahead extracts on its own stream.
TEST_F(CudaTrainingTest, ExtractsBesideAGradient) {
  Open();
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const std::unique_ptr<TaskFeatures> next = cuda_->NewFeatures();
  const auto task = MakeTask(0);
  const auto later = MakeTask(1);
  std::vector<float> expected;
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  FGNN_ASSERT_OK(
      Gradient(*cuda_, task->view, features.get(), &expected).status());
  for (int turn = 0; turn < 5; ++turn) {
    FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
    std::thread ahead([&] {
      EXPECT_THAT(Extract(later->view, next.get(), TrainerThread::kAhead),
                  IsOk());
    });
    std::vector<float> gradient;
    EXPECT_THAT(Gradient(*cuda_, task->view, features.get(), &gradient),
                IsOk());
    ahead.join();
    EXPECT_EQ(gradient, expected);
    EXPECT_TRUE(RowsOf(*next) == Expected(later->view));
  }
}

}  // namespace
}  // namespace fgnn
