// Gradients and jobs on the device, beside those of the CPU.
#include <cmath>
#include <thread>

#include "tests/unit/trainer_service/backend/cuda/cuda_backend_fixture.h"
#include "trainer_service/daemon/job_trainer.h"
#include "trainer_service/daemon/training_profile.h"
#include "trainer_service/sync/board_exchange.h"

namespace fgnn {
namespace {

constexpr OwnerIndex kTrainer{2};
constexpr uint64_t kJobSteps = 6;

// The job's segment, open for all of its batches, and one trainer of it.
struct TrainedJob {
  TrainedJob(const JobSpec& spec, TrainerBackend* backend)
      : trainer(spec, backend, &steps, segment.get(), kTrainer) {
    GlobalQueue(segment.get(), kNoOwner).OpenForSampling(BatchSeq(14));
    board.OpenForTraining(StepNumber(kJobSteps));
  }

  const std::unique_ptr<Segment> segment =
      Segment::Create(SmallSegmentOptions("job")).value();
  GlobalQueue sampler{segment.get(), kSamplerOwner, 0};
  GradientBoard board{segment.get(), kNoOwner};
  BoardExchange steps{segment.get(), kTrainer};
  JobTrainer trainer;
};

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
    spec_.features.ahead = ahead;
    TrainedJob job(spec_, backend);
    const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
    while (job.board.version().value_or(0) != kJobSteps) {
      EXPECT_LT(MonotonicClock::now(), deadline);
      if (MonotonicClock::now() >= deadline) return {};
      SampleNext(&job.sampler, job.segment->options().job_key, &*order_);
      const absl::Status trained = job.trainer.DoNext().status();
      EXPECT_THAT(trained, IsOk());
      if (!trained.ok()) return {};
    }
    const absl::Span<const float> weights = job.board.weights(kJobSteps);
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
    FGNN_ASSERT_OK(
        Extract(task->view, features.get(), TrainerThread::kAhead).status());
    EXPECT_EQ(CudaGradient(task->view, features.get()), gradient);
  }
}

TEST_F(CudaTrainingTest, LeavesGradientsWhereItIsTold) {
  Open();
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const auto task = MakeTask(1);
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  const std::vector<float> gradient = CudaGradient(task->view, features.get());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto place,
                            DeviceArray<float>::Make(gradient.size()));
  std::vector<float> on_host;
  bool wants = true;
  cuda_->LeaveGradients([&](absl::Span<const float> host) {
    EXPECT_EQ(host.data(), on_host.data());
    return wants ? place.get() : nullptr;
  });
  const uint64_t waits = simt::GetFakeCounts().waits;
  FGNN_ASSERT_OK(
      Gradient(*cuda_, task->view, features.get(), &on_host).status());
  EXPECT_EQ(simt::GetFakeCounts().waits, waits + 1);
  EXPECT_EQ(on_host, gradient);
  std::vector<float> left(gradient.size());
  Get(place.get(), left.size() * sizeof(float), left.data());
  EXPECT_EQ(left, gradient);
  wants = false;
  FGNN_ASSERT_OK(
      Gradient(*cuda_, task->view, features.get(), &on_host).status());
  EXPECT_EQ(on_host, gradient);
}

// Rows of the table are summed there: in every bit as if they were copied.
TEST_F(CudaTrainingTest, SumsCachedRowsWhereTheyLie) {
  for (const char* kind : {"graphsage", "gcn", "gin"}) {
    SCOPED_TRACE(kind);
    spec_.model.kind = kind;
    Open();
    const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
    const auto task = MakeTask(1);
    const size_t all = task->view.input_nodes.size();
    std::vector<float> copied;
    for (const uint64_t rows : {0, 60, 120}) {
      SCOPED_TRACE(rows);
      FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(rows)));
      FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
      const DeviceTaskView& view = ViewOf(*features);
      EXPECT_EQ(view.placed.places != nullptr, rows > 0);
      // GCN reads rows in its sums alone, others also those of destinations.
      const size_t dense =
          spec_.model.kind == "gcn" ? 0 : task->view.hops[1].num_destinations;
      if (rows == 120) {
        EXPECT_EQ(view.num_rows, dense);
      } else {
        EXPECT_EQ(view.num_rows<all, rows> 0);
      }
      const std::vector<float> gradient =
          CudaGradient(task->view, features.get());
      if (copied.empty()) copied = gradient;
      EXPECT_EQ(gradient, copied);
    }
  }
}

TEST_F(CudaTrainingTest, CopiesRowsThatAModelReadsInItsOwnOrder) {
  const auto task = MakeTask(1);
  const auto copies_all = [&] {
    Open();
    EXPECT_THAT(cuda_->CacheAsPlanned(Plan(120)), IsOk());
    const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
    EXPECT_THAT(Extract(task->view, features.get()), IsOk());
    EXPECT_TRUE(RowsOf(*features) == Expected(task->view) ||
                spec_.training.precision == "bf16");
    return ViewOf(*features).placed.places == nullptr;
  };
  EXPECT_FALSE(copies_all());
  spec_.model.input_dropout = 0.5;
  EXPECT_TRUE(copies_all());
  spec_.model.input_dropout = 0;
  spec_.training.precision = "bf16";  // Of a store of f32.
  EXPECT_TRUE(copies_all());
  spec_.training.precision = "f32";
  spec_.model.kind = "gat";
  EXPECT_TRUE(copies_all());
}

// A batch that was extracted ahead may have rows of a table that is gone.
TEST_F(CudaTrainingTest, ExtractsAgainWhatAFreedTableHad) {
  Open();
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const auto task = MakeTask(1);
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  const std::vector<float> expected = CudaGradient(task->view, features.get());
  for (const uint64_t rows : {0, 30, 119}) {
    SCOPED_TRACE(rows);
    FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(120)));
    FGNN_ASSERT_OK(
        Extract(task->view, features.get(), TrainerThread::kAhead).status());
    ASSERT_NE(ViewOf(*features).placed.places, nullptr);
    FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(rows)));
    EXPECT_EQ(CudaGradient(task->view, features.get()), expected);
    EXPECT_TRUE(RowsOf(*features) == Expected(task->view));
    // Not a second time.
    const uint64_t waits = simt::GetFakeCounts().waits;
    EXPECT_EQ(CudaGradient(task->view, features.get()), expected);
    EXPECT_EQ(simt::GetFakeCounts().waits - waits, 1U);
  }
}

TEST_F(CudaTrainingTest, WaitsAFixedNumberOfTimesABatch) {
  Open();
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  for (uint64_t seq = 0; seq < 4; ++seq) {
    const auto task = MakeTask(seq);
    const uint64_t before = simt::GetFakeCounts().waits;
    FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
    CudaGradient(task->view, features.get());
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

// Two batches are held at once, and a walk's edges have weights.
TEST_F(CudaTrainingTest, EndsAJobWhoseNumbersAreNotFinite) {
  spec_.training.learning_rate = 1e30;
  Open();
  TrainedJob job(spec_, cuda_.get());
  absl::Status trained;
  for (int work = 0; work < 30 && trained.ok(); ++work) {
    SampleNext(&job.sampler, job.segment->options().job_key, &*order_);
    trained = job.trainer.DoNext().status();
  }
  EXPECT_THAT(trained, Aborted("the loss is "));
  std::vector<float> old(NumParameters(*cuda_));
  std::vector<float> state(2 * old.size());
  const std::vector<float> wrong(old.size(), INFINITY);
  std::vector<float> made(old.size());
  std::vector<float> made_state(state.size());
  StepTensors step;
  step.old_weights = old;
  step.old_optimizer_state = state;
  step.new_weights = absl::MakeSpan(made);
  step.new_optimizer_state = absl::MakeSpan(made_state);
  step.gradients = {wrong};
  step.batch_examples = {3};
  EXPECT_THAT(cuda_->Step(1, OptimizerOf(spec_.training), step),
              Aborted("in step 1 the gradient of "));
}

TEST_F(CudaTrainingTest, PlansForTheWeightsOfEdges) {
  constexpr uint64_t kEdges = 60000;
  spec_.features.ahead = 1;
  const auto work_bytes_of = [this](const std::string& kind) {
    spec_.sampling.kind = kind;
    const absl::StatusOr<TrainingProfile> needs = ProfileTraining(
        spec_, {{8, 40, 60}, {40, 100, kEdges}}, 1,
        [](const JobSpec& spec, int num_threads) {
          return CudaBackend::OpenForJob(spec, num_threads, Options());
        });
    EXPECT_THAT(needs, IsOk());
    return needs.ok() && needs->gpu.has_value() ? needs->gpu->work_bytes : 0;
  };
  const uint64_t without = work_bytes_of("khop");
  EXPECT_GE(work_bytes_of("random_walk"), without + 2 * kEdges * sizeof(float));
}

// A batch without other parts is measured as a part that shares its inputs.
TEST_F(CudaTrainingTest, PlansForInputsThatPartsShare) {
  spec_.training.parts = 2;
  spec_.training.share_inputs = "on";
  FGNN_ASSERT_OK_AND_ASSIGN(
      const TrainingProfile needs,
      ProfileTraining(spec_, {{8, 40, 60}, {40, 100, 300}}, 1,
                      [](const JobSpec& spec, int num_threads) {
                        return CudaBackend::OpenForJob(spec, num_threads,
                                                       Options());
                      }));
  ASSERT_TRUE(needs.gpu.has_value());
  EXPECT_GE(needs.gpu->work_bytes, 100 * kSmallColumns * sizeof(float));
}

// Beside a gradient, the thread that works ahead extracts on its own stream.
TEST_F(CudaTrainingTest, ExtractsBesideAGradient) {
  Open();
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const std::unique_ptr<TaskFeatures> next = cuda_->NewFeatures();
  const auto task = MakeTask(0);
  const auto later = MakeTask(1);
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  const std::vector<float> expected = CudaGradient(task->view, features.get());
  for (int turn = 0; turn < 5; ++turn) {
    FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
    std::thread ahead([&] {
      EXPECT_THAT(Extract(later->view, next.get(), TrainerThread::kAhead),
                  IsOk());
    });
    const std::vector<float> gradient =
        CudaGradient(task->view, features.get());
    ahead.join();
    EXPECT_EQ(gradient, expected);
    EXPECT_TRUE(RowsOf(*next) == Expected(later->view));
  }
}

}  // namespace
}  // namespace fgnn
