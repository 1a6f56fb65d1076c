// Jobs of several trainers against a program of a few operations of PyTorch
// that takes the same batches one after the other, in f64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/daemon/job_trainer.h"
#include "trainer_service/sync/board_exchange.h"

namespace fgnn {
namespace {

constexpr char kJobId[] = "job";
constexpr OwnerIndex kHolder{9};
constexpr OwnerIndex kFirstTrainer{2};
constexpr uint64_t kBatchesPerEpoch = 7;  // The last one has 3 seeds of 8.
constexpr uint64_t kStepsPerEpoch = 4;    // The last one has one batch of 2.
constexpr uint64_t kSteps = 50;
constexpr uint64_t kTaskBytes = 1 << 14;

SegmentOptions Options(uint32_t staleness) {
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.num_slots = 2 * kBatchesPerEpoch;
  options.epochs = kSteps / kStepsPerEpoch + 1;
  options.batches_per_step = 2;
  options.staleness = staleness;
  return options;
}

JobSpec Job(const std::filesystem::path& dataset, uint32_t ahead = 0) {
  JobSpec spec = SmallJob(dataset);
  spec.model.dropout = 0;
  spec.features.ahead = ahead;
  return spec;
}

using Tensors = std::vector<torch::Tensor>;

// What a job came to.
struct Trained {
  std::vector<float> first_weights;
  std::vector<float> weights;
  std::vector<uint32_t> staleness;  // Of each batch's weights.
};

void WorkUntilDone(const JobSpec* spec, CpuBackend* backend, Segment* segment,
                   OwnerIndex owner, Deadline deadline) {
  BoardExchange steps(segment, owner);
  JobTrainer trainer(*spec, backend, &steps, segment, owner);
  const GradientBoard board(segment, kNoOwner);
  while (board.version() != kSteps) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    const uint32_t seen = trainer.changes();
    FGNN_ASSERT_OK_AND_ASSIGN(const bool worked, trainer.DoNext());
    if (worked) continue;
    FGNN_ASSERT_OK(trainer.WaitForWork(seen, deadline));
  }
}

class PlainTorchTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { torch::set_num_threads(1); }
  void SetUp() override {
    WriteSmallDataset(folder_ / "data");
    for (uint32_t i = 0; i < 3; ++i) {
      specs_.push_back(Job(folder_ / "data", i));
      FGNN_ASSERT_OK_AND_ASSIGN(auto backend,
                                CpuBackend::OpenForJob(specs_[i], 1));
      backends_.push_back(std::move(backend));
    }
  }

  // Samples and trains an epoch, as far as the job goes, and notes its records.
  void RunEpoch(Segment* segment, uint64_t epoch, Trained* trained) {
    GlobalQueue sampler(segment, kSamplerOwner);
    GradientBoard board(segment, kNoOwner);
    const BatchSeq first(epoch * kBatchesPerEpoch);
    sampler.OpenForSampling(first + kBatchesPerEpoch);
    for (uint64_t i = 0; i < kBatchesPerEpoch; ++i) {
      FGNN_ASSERT_OK_AND_ASSIGN(auto slot, sampler.ClaimForWriting(deadline_));
      ASSERT_TRUE(slot.has_value());
      FGNN_ASSERT_OK(WriteMadeUpTask(slot->block(), segment->options().job_key,
                                     slot->seq()));
      FGNN_ASSERT_OK((*std::move(slot)).Publish());
    }
    const uint64_t limit = std::min((epoch + 1) * kStepsPerEpoch, kSteps);
    if (segment->options().staleness == 0) {
      board.OpenForTraining(StepNumber(limit));
    } else {
      OpenWithoutFirst(segment, first, limit);
    }
    FGNN_ASSERT_OK_AND_ASSIGN(const bool done,
                              board.WaitForVersion(limit, deadline_));
    ASSERT_TRUE(done);
    const BatchSeq end =
        segment->shape().BatchesOfStep(StepNumber(limit - 1)).end;
    for (BatchSeq seq = first; seq < end; ++seq) {
      const std::optional<BatchRecord> record = board.record({seq});
      ASSERT_TRUE(record.has_value()) << seq.value();
      trained->staleness.push_back(record->staleness);
    }
  }

  // Nobody gets the first batch before all others of the open steps are done.
  void OpenWithoutFirst(Segment* segment, BatchSeq first, uint64_t limit) {
    GradientBoard board(segment, kNoOwner);
    GlobalQueue holder(segment, kHolder);
    FGNN_ASSERT_OK_AND_ASSIGN(const std::optional<ReadSlot> held,
                              holder.TryClaimForReading(first, first + 1));
    ASSERT_TRUE(held.has_value());
    board.OpenForTraining(StepNumber(limit));
    const BatchSeq end = board.FindOpenSteps()->last_batch;
    for (BatchSeq seq = first + 1; seq < end; ++seq) {
      for (uint32_t seen = board.changes(); !board.IsDone({seq});
           seen = board.changes()) {
        ASSERT_LT(MonotonicClock::now(), deadline_);
        FGNN_ASSERT_OK(board.WaitForChange(seen, deadline_));
      }
    }
  }

  Trained Train(size_t num_trainers, uint32_t staleness = 0) {
    const std::unique_ptr<Segment> segment =
        Segment::Create(Options(staleness)).value();
    std::vector<std::thread> threads;
    for (size_t i = 0; i < num_trainers; ++i) {
      threads.emplace_back(
          WorkUntilDone, &specs_[i], backends_[i].get(), segment.get(),
          static_cast<OwnerIndex>(PlainIndex(kFirstTrainer) + i), deadline_);
    }
    GradientBoard board(segment.get(), kNoOwner);
    Trained trained;
    EXPECT_THAT(board.WaitForVersion(0, deadline_), IsOk());
    const absl::Span<const float> first = board.weights(0);
    trained.first_weights.assign(first.begin(), first.end());
    for (uint64_t epoch = 0; board.version() != kSteps && !HasFatalFailure();
         ++epoch) {
      RunEpoch(segment.get(), epoch, &trained);
    }
    if (HasFatalFailure()) GlobalQueue(segment.get(), kNoOwner).Stop();
    for (std::thread& thread : threads) thread.join();
    const absl::Span<const float> last = board.weights(kSteps);
    trained.weights.assign(last.begin(), last.end());
    return trained;
  }

  // The mean loss of the seeds of batch `seq` by these parameters.
  struct Loss {
    torch::Tensor mean;
    double num_seeds;
  };
  Loss LossOf(BatchSeq seq, const Tensors& parameters);
  Tensors ParametersFrom(const std::vector<float>& weights) const;
  torch::optim::Adam AdamOf(const Tensors& parameters) const;
  // The weights that plain PyTorch comes to from the same first ones.
  std::vector<double> ByTorch(const Trained& trained);
  void ExpectWeightsOfTorch(const Trained& trained);

  TempFolder folder_;
  std::vector<JobSpec> specs_;
  std::vector<std::unique_ptr<CpuBackend>> backends_;
  const Deadline deadline_ = DeadlineIn(std::chrono::seconds(120));
};

// The mean of the neighbours' rows of x; zeros without any.
torch::Tensor MeanOfNeighbors(const BlockView& hop, const torch::Tensor& x) {
  std::vector<int64_t> from(hop.indices.begin(), hop.indices.end());
  std::vector<int64_t> degrees;
  for (uint32_t d = 0; d < hop.num_destinations; ++d) {
    degrees.push_back(hop.indptr[d + 1] - hop.indptr[d]);
  }
  const torch::Tensor degree = torch::tensor(degrees);
  const torch::Tensor to = torch::repeat_interleave(degree);
  return torch::zeros({degree.size(0), x.size(1)}, torch::kFloat64)
             .index_add(0, to, x.index_select(0, torch::tensor(from))) /
         degree.clamp_min(1).unsqueeze(1);
}

PlainTorchTest::Loss PlainTorchTest::LossOf(BatchSeq seq,
                                            const Tensors& parameters) {
  Scratch<std::byte> buffer;
  const absl::Span<std::byte> block(buffer.Reserve(kTaskBytes), kTaskBytes);
  EXPECT_THAT(WriteMadeUpTask(block, 1, seq), IsOk());
  const TaskView task = ReadTask(block, 1).value();
  torch::Tensor x =
      torch::empty({static_cast<int64_t>(task.input_nodes.size()), 6});
  EXPECT_THAT(backends_[0]->host().features().CopyRows(task.input_nodes,
                                                       x.data_ptr<float>()),
              IsOk());
  x = x.to(torch::kFloat64);
  for (size_t layer = 0; layer < 2; ++layer) {
    const BlockView& hop = task.hops[1 - layer];
    const torch::Tensor* const weights = &parameters[3 * layer];
    x = torch::linear(MeanOfNeighbors(hop, x), weights[0], weights[2]) +
        torch::linear(x.narrow(0, 0, hop.num_destinations), weights[1]);
    if (layer == 0) x = torch::relu(x);
  }
  std::vector<int64_t> labels;
  for (const GlobalId seed : task.seeds()) {
    labels.push_back(backends_[0]->dataset().labels()[seed]);
  }
  return {torch::nn::functional::cross_entropy(x, torch::tensor(labels)),
          static_cast<double>(x.size(0))};
}

Tensors PlainTorchTest::ParametersFrom(
    const std::vector<float>& weights) const {
  Tensors parameters;
  for (const ParameterInfo& info : backends_[0]->parameters()) {
    const std::vector<int64_t> shape(info.shape.begin(), info.shape.end());
    const absl::Span<const float> values =
        absl::MakeSpan(weights).subspan(info.offset, info.size());
    parameters.push_back(
        torch::tensor(std::vector<double>(values.begin(), values.end()),
                      torch::kFloat64)
            .view(shape));
  }
  return parameters;
}

torch::optim::Adam PlainTorchTest::AdamOf(const Tensors& parameters) const {
  const TrainingSpec& training = specs_[0].training;
  const std::vector<ParameterInfo>& infos = backends_[0]->parameters();
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto options =
        std::make_unique<torch::optim::AdamOptions>(training.learning_rate);
    options->weight_decay(infos[i].decay ? training.weight_decay : 0);
    groups.emplace_back(Tensors{parameters[i]}, std::move(options));
  }
  return torch::optim::Adam(groups);
}

std::vector<double> PlainTorchTest::ByTorch(const Trained& trained) {
  Tensors parameters = ParametersFrom(trained.first_weights);
  torch::optim::Adam adam = AdamOf(parameters);
  std::vector<Tensors> versions;
  for (uint64_t step = 0; step < kSteps; ++step) {
    versions.emplace_back();
    for (torch::Tensor& parameter : parameters) {
      versions.back().push_back(parameter.clone().requires_grad_());
      parameter.mutable_grad() = torch::zeros_like(parameter);
    }
    const BatchRange batches =
        JobShape(Options(0)).BatchesOfStep(StepNumber(step));
    double num_seeds = 0;
    for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
      const Tensors& weights = versions[step - trained.staleness[seq.value()]];
      const Loss loss = LossOf(seq, weights);
      const Tensors gradients = torch::autograd::grad({loss.mean}, weights);
      for (size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].mutable_grad() += gradients[i] * loss.num_seeds;
      }
      num_seeds += loss.num_seeds;
    }
    for (torch::Tensor& parameter : parameters) {
      parameter.mutable_grad() /= num_seeds;
    }
    adam.step();
  }
  std::vector<double> weights;
  for (const torch::Tensor& parameter : parameters) {
    weights.insert(weights.end(), parameter.data_ptr<double>(),
                   parameter.data_ptr<double>() + parameter.numel());
  }
  return weights;
}

void PlainTorchTest::ExpectWeightsOfTorch(const Trained& trained) {
  const std::vector<double> expected = ByTorch(trained);
  ASSERT_EQ(trained.weights.size(), expected.size());
  double squares = 0;
  double moved = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    squares += std::pow(double{trained.weights[i]} - expected[i], 2);
    moved += std::pow(expected[i] - double{trained.first_weights[i]}, 2);
  }
  RecordProperty("relative_error", absl::StrCat(std::sqrt(squares / moved)));
  // A sum near zero may end on the other side of a ReLU.
  EXPECT_LT(std::sqrt(squares / moved), 1e-3);
}

TEST_F(PlainTorchTest, StepsAreThoseOfOneProgramForOneTwoAndThreeTrainers) {
  const Trained one = Train(1);
  ExpectWeightsOfTorch(one);
  for (const size_t num_trainers : {2, 3}) {
    const Trained several = Train(num_trainers);
    EXPECT_THAT(several.staleness, testing::Each(0U));
    EXPECT_EQ(std::memcmp(several.weights.data(), one.weights.data(),
                          one.weights.size() * sizeof(float)),
              0)
        << num_trainers;
  }
}

// The versions that batches saw are all that timing changes.
TEST_F(PlainTorchTest, StaleStepsAreThoseOfOneProgramWithTheSameVersions) {
  for (const size_t num_trainers : {1, 3}) {
    const Trained stale = Train(num_trainers, /*staleness=*/2);
    ASSERT_EQ(stale.staleness.size(), 88U);
    EXPECT_THAT(stale.staleness, testing::Each(testing::Le(2U)));
    // Steps of two batches; the first one waits for the others.
    const std::vector<uint32_t> epoch(stale.staleness.begin(),
                                      stale.staleness.begin() + 6);
    EXPECT_THAT(epoch, testing::ElementsAre(0U, 0U, 1U, 1U, 2U, 2U));
    ExpectWeightsOfTorch(stale);
  }
}

}  // namespace
}  // namespace fgnn
