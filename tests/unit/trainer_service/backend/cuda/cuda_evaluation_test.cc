// Inference and evaluation on the device, beside those of the CPU.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/backend/cuda/cuda_backend_fixture.h"
#include "tests/unit/trainer_service/infer/infer_world.h"
#include "trainer_service/backend/cuda/cuda_inference_device.h"
#include "trainer_service/compute/scratch.h"

namespace fgnn {
namespace {

Shape NewShape(std::string name, const std::string& kind, uint64_t columns,
               uint32_t hidden, uint32_t classes) {
  Shape shape;
  shape.name = std::move(name);
  shape.num_nodes = 40;
  shape.largest_degree = 5;
  shape.model.kind = kind;
  shape.model.layers = 2;
  shape.model.input_columns = columns;
  shape.model.hidden = hidden;
  shape.model.num_classes = classes;
  shape.model.heads = 3;
  shape.model.dropout = 0.5;  // Not at inference.
  return shape;
}

// Layers that send products and that send their inputs; a hub of 200 edges.
std::vector<Shape> ModelShapes() {
  std::vector<Shape> shapes;
  for (const std::string kind : {"graphsage", "gcn", "gin", "gat", "pinsage"}) {
    shapes.push_back(NewShape(kind + "Wide", kind, 20, 9, 5));
    shapes.push_back(NewShape(kind + "Narrow", kind, 5, 12, 15));
    shapes.back().bfloat16 = true;
  }
  for (const uint32_t columns : {5U, 20U}) {
    shapes.push_back(
        NewShape(absl::StrCat("PoolOf", columns), "graphsage", columns, 9, 7));
    shapes.back().model.aggregator = "pool";
  }
  shapes.push_back(NewShape("GcnRight", "gcn", 7, 6, 3));
  shapes.back().model.degree_norm = "right";
  for (const std::string norm : {"batch", "layer"}) {
    shapes.push_back(NewShape(norm + "Norm", "graphsage", 7, 6, 3));
    shapes.back().model.normalization = norm;
    shapes.back().model.residual = true;
    shapes.back().model.layers = 3;
  }
  shapes.push_back(NewShape("Residual", "gat", 7, 6, 3));
  shapes.back().model.residual = true;
  shapes.back().model.layers = 3;
  shapes.push_back(NewShape("TrainedInBfloat16", "graphsage", 7, 6, 3));
  shapes.back().model.precision = Precision::kBfloat16;
  return shapes;
}

class CudaInferenceTest : public testing::TestWithParam<Shape> {
 protected:
  CudaInferenceTest()
      : world_(GetParam()), products_(simt::NewPlainProducts()) {
    simt::SetFakeDevice({.memory_bytes = size_t{64} << 20});
  }
  ~CudaInferenceTest() override {
    EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 0U);
  }

  std::unique_ptr<CudaInferenceDevice> NewDevice(
      uint64_t most_bytes, const MissRows* features = nullptr) {
    return CudaInferenceDevice::Make(world_.options(), products_.get(),
                                     features, &team_,
                                     std::make_shared<ByteCount>(), most_bytes)
        .value();
  }
  std::vector<float> LogitsOn(InferenceDevice* device, bool keeps = false) {
    InferenceInput input = world_.Input(&team_);
    input.device = device;
    input.keeps_on_device = keeps;
    std::vector<GlobalId> all(world_.num_nodes());
    std::iota(all.begin(), all.end(), 0U);
    const size_t columns = world_.options().num_classes;
    std::vector<float> logits(all.size() * columns, NAN);
    EXPECT_THAT(InferLogits(input, all,
                            [&](size_t first, int64_t rows, const float* from) {
                              std::copy_n(from,
                                          static_cast<size_t>(rows) * columns,
                                          &logits[first * columns]);
                            }),
                IsOk());
    return logits;
  }
  static void ExpectNear(const std::vector<float>& values,
                         const std::vector<float>& expected) {
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], expected[i], 1e-5 * (1 + std::abs(expected[i])))
          << i;
    }
  }

  ThreadTeam team_{2};
  World world_;
  const std::unique_ptr<DenseProducts> products_;
};

TEST_P(CudaInferenceTest, HasTheLogitsOfTheCpu) {
  const std::vector<float> expected = LogitsOn(nullptr);
  const auto device = NewDevice(kMostInferenceBytes);
  const std::vector<float> logits = LogitsOn(device.get());
  ExpectNear(logits, expected);
  EXPECT_GT(simt::GetFakeCounts().launches, 0U);
  EXPECT_EQ(LogitsOn(device.get()), logits);  // In every bit.
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 0U);
}

// Where features are registered, their rows are not copied.
TEST_P(CudaInferenceTest, ReadsFeaturesWhereTheyLie) {
  const auto copying = NewDevice(kMostInferenceBytes);
  const std::vector<float> expected = LogitsOn(copying.get());
  const uint64_t copied = simt::GetFakeCounts().copied_bytes;
  const MissRows features = MissRows::Register(world_.Input().features);
  ASSERT_NE(features.on_device(), nullptr);
  const auto reading = NewDevice(kMostInferenceBytes, &features);
  EXPECT_EQ(LogitsOn(reading.get()), expected);
  EXPECT_LT(simt::GetFakeCounts().copied_bytes - copied, copied);
}

// In every bit as if they went through the host's memory.
TEST_P(CudaInferenceTest, KeepsHiddenStatesOnTheDevice) {
  const auto device = NewDevice(kMostInferenceBytes);
  const std::vector<float> expected = LogitsOn(device.get());
  const uint64_t copied = simt::GetFakeCounts().copied_bytes;
  EXPECT_EQ(LogitsOn(device.get(), /*keeps=*/true), expected);
  EXPECT_LT(simt::GetFakeCounts().copied_bytes - copied, copied);
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 0U);
}

// The hub has no room, so that cores need hidden states.
TEST_P(CudaInferenceTest, GivesHiddenStatesBackToCores) {
  const auto device = NewDevice(uint64_t{10} << 10);
  const std::vector<float> expected = LogitsOn(device.get());
  ExpectNear(LogitsOn(device.get(), /*keeps=*/true), expected);
}

// Blocks of few vertices; the hub has no room.
TEST_P(CudaInferenceTest, CutsChunksToItsWorkspace) {
  const std::vector<float> expected = LogitsOn(nullptr);
  const auto device = NewDevice(uint64_t{10} << 10);
  const std::vector<float> logits = LogitsOn(device.get());
  ExpectNear(logits, expected);
  EXPECT_EQ(LogitsOn(device.get()), logits);
  const auto large = NewDevice(kMostInferenceBytes);
  const uint64_t launches = simt::GetFakeCounts().launches;
  LogitsOn(large.get());
  const uint64_t of_one = simt::GetFakeCounts().launches - launches;
  EXPECT_GT(launches, 3 * of_one);
}

INSTANTIATE_TEST_SUITE_P(All, CudaInferenceTest,
                         testing::ValuesIn(ModelShapes()),
                         [](const testing::TestParamInfo<Shape>& test) {
                           return test.param.name;
                         });

// A chunk that finds no memory is tried again with less, on the device.
TEST(CudaInferenceMemoryTest, TakesLessWhereThereIsNoMemory) {
  Shape shape = NewShape("", "graphsage", 3000, 8, 3);
  shape.num_nodes = 600;
  World world(shape);
  ThreadTeam team(2);
  const auto products = simt::NewPlainProducts();
  const auto device =
      CudaInferenceDevice::Make(world.options(), products.get(), nullptr, &team,
                                std::make_shared<ByteCount>());
  FGNN_ASSERT_OK(device.status());
  std::vector<std::vector<float>> logits;
  std::vector<uint64_t> copies;
  // 512 rows of messages and inputs take 6 MB.
  for (const size_t memory : {size_t{64} << 20, size_t{2500} << 10}) {
    simt::SetFakeDevice({.memory_bytes = memory});
    InferenceInput input = world.Input(&team);
    input.device = device->get();
    std::vector<GlobalId> all(world.num_nodes());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<float>& of_all = logits.emplace_back(all.size() * 3, NAN);
    FGNN_ASSERT_OK(InferLogits(
        input, all, [&](size_t first, int64_t rows, const float* from) {
          std::copy_n(from, rows * 3, &of_all[first * 3]);
        }));
    copies.push_back(simt::GetFakeCounts().copies);
  }
  EXPECT_GT(copies[1], copies[0]);
  for (size_t i = 0; i < logits[0].size(); ++i) {
    ASSERT_NEAR(logits[1][i], logits[0][i],
                1e-5 * (1 + std::abs(logits[0][i])));
  }
}

class CudaEvaluationTest : public CudaBackendTest {
 protected:
  std::vector<absl::Span<const int64_t>> Splits() const {
    return {cpu_->dataset().valid(), cpu_->dataset().test()};
  }
  // Weights that the job begins with.
  absl::Span<const float> Weights() {
    float* const values = floats_.Reserve(NumParameters(*cpu_));
    const auto weights = absl::MakeSpan(values, NumParameters(*cpu_));
    StepTensors first;
    first.new_weights = weights;
    EXPECT_THAT(cpu_->Step(1, OptimizerOf(spec_.training), first), IsOk());
    return weights;
  }
  ScoredWeights Scored() {
    ScoredWeights scored;
    scored.values = Weights();
    return scored;
  }
  static void ExpectNear(const std::vector<SplitScore>& scores,
                         const std::vector<SplitScore>& expected) {
    ASSERT_EQ(scores.size(), expected.size());
    for (size_t s = 0; s < scores.size(); ++s) {
      EXPECT_EQ(scores[s].num_vertices, expected[s].num_vertices);
      EXPECT_EQ(scores[s].num_correct, expected[s].num_correct);
      EXPECT_NEAR(scores[s].loss, expected[s].loss, 1e-5);
    }
  }

  Scratch<float> floats_;
};

TEST_F(CudaEvaluationTest, HasTheScoresOfTheCpuAndGivesMemoryBack) {
  Open();
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected,
                            cpu_->Evaluate(Scored(), Splits()));
  const size_t before = AllocatedBytes();
  FGNN_ASSERT_OK_AND_ASSIGN(const PlacedBytes in_use, cuda_->BytesInUse());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto scores,
                            cuda_->Evaluate(Scored(), Splits()));
  ExpectNear(scores, expected);
  EXPECT_GT(simt::GetFakeCounts().launches, 0U);
  EXPECT_EQ(AllocatedBytes(), before);
  FGNN_ASSERT_OK_AND_ASSIGN(const PlacedBytes after, cuda_->BytesInUse());
  EXPECT_EQ(after.device, in_use.device);
}

TEST_F(CudaEvaluationTest, TakesNoMoreThanItSays) {
  Open();
  const uint64_t says = cuda_->BytesOfEvaluation().own.device;
  EXPECT_GT(says, 0U);
  EXPECT_GT(cuda_->BytesOfEvaluation().own.host,
            cpu_->BytesOfEvaluation().own.host);
  const size_t before = AllocatedBytes();
  SetDevice(before + says);
  FGNN_ASSERT_OK(cuda_->Evaluate(Scored(), Splits()).status());
  EXPECT_GT(simt::GetFakeCounts().launches, 0U);
  SetDevice(kMemory);
}

TEST_F(CudaEvaluationTest, KeepsHiddenStatesWhereThePlanHasRoom) {
  Open();
  SetDevice(kMemory);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected,
                            cuda_->Evaluate(Scored(), Splits()));
  const uint64_t copied = simt::GetFakeCounts().copied_bytes;
  const EvaluationBytes says = cuda_->BytesOfEvaluation();
  EXPECT_GT(says.kept, 0U);
  EXPECT_EQ(cpu_->BytesOfEvaluation().kept, 0U);
  ScoredWeights scored = Scored();
  scored.keeps_on_device = true;
  const size_t before = AllocatedBytes();
  SetDevice(before + says.own.device + says.kept);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto kept, cuda_->Evaluate(scored, Splits()));
  EXPECT_EQ(kept[0].loss, expected[0].loss);
  EXPECT_LT(simt::GetFakeCounts().copied_bytes, copied);
  EXPECT_EQ(AllocatedBytes(), before);
  // The device has less than the plan had.
  for (const uint64_t bytes : {says.own.device, says.own.device / 2}) {
    SetDevice(before + bytes);
    FGNN_ASSERT_OK_AND_ASSIGN(const auto scores,
                              cuda_->Evaluate(scored, Splits()));
    ExpectNear(scores, expected);
    EXPECT_EQ(AllocatedBytes(), before);
  }
  SetDevice(kMemory);
}

TEST_F(CudaEvaluationTest, LeavesItToCoresWithoutMemory) {
  Open();
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected,
                            cpu_->Evaluate(Scored(), Splits()));
  // For the weights, or for nothing.
  for (const size_t more :
       {size_t{0}, 4 * NumParameters(*cpu_) * sizeof(float)}) {
    SetDevice(AllocatedBytes() + more);
    FGNN_ASSERT_OK_AND_ASSIGN(const auto scores,
                              cuda_->Evaluate(Scored(), Splits()));
    for (size_t s = 0; s < scores.size(); ++s) {
      EXPECT_EQ(scores[s].loss, expected[s].loss);
    }
    EXPECT_EQ(simt::GetFakeCounts().launches, 0U);
  }
  SetDevice(kMemory);
}

// ResourceExhausted would be waited for.
TEST_F(CudaEvaluationTest, NeverAsksToWaitForTheDevicesMemory) {
  Open();
  const EdgeView edges(&cpu_->dataset().graph());
  const ScoredWeights scored = Scored();
  simt::FailAfter(0, cudaErrorMemoryAllocation, /*sticky=*/false);
  EXPECT_THAT(cuda_->Evaluate(scored, Splits()), FailedPrecondition());
  simt::FailAfter(0, cudaErrorMemoryAllocation, /*sticky=*/false);
  EXPECT_THAT(cuda_->RankEdges(scored, {edges}), FailedPrecondition());
  SetDevice(kMemory);
  FGNN_ASSERT_OK(cuda_->Evaluate(scored, Splits()).status());
}

TEST_F(CudaEvaluationTest, SharesItWithOtherTrainers) {
  Open();
  FGNN_ASSERT_OK_AND_ASSIGN(const auto alone,
                            cuda_->Evaluate(Scored(), Splits()));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto second,
                            CudaBackend::OpenForJob(spec_, 2, Options()));
  const UniqueFd memory(
      ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const absl::Span<const float> weights = Weights();
  const auto evaluate = [&](CudaBackend& backend) {
    const auto shared = SharedInference::Open(Duplicate(memory.get())).value();
    ScoredWeights scored;
    scored.values = weights;
    scored.shared = shared.get();
    const auto scores = backend.Evaluate(scored, Splits());
    EXPECT_THAT(scores.status(), IsOk());
    for (size_t s = 0; scores.ok() && s < scores->size(); ++s) {
      EXPECT_EQ((*scores)[s].loss, alone[s].loss);
      EXPECT_EQ((*scores)[s].num_correct, alone[s].num_correct);
    }
  };
  std::thread other([&] { evaluate(*second); });
  evaluate(*cuda_);
  other.join();
}

// After an error that stays the process has to end; else it goes on.
TEST_F(CudaEvaluationTest, ReportsErrorsOfTheDevice) {
  Open();
  for (const bool sticky : {false, true}) {
    simt::FailAfter(20, cudaErrorLaunchFailure, sticky);
    const absl::Status status = cuda_->Evaluate(Scored(), Splits()).status();
    EXPECT_THAT(status, Internal());
    EXPECT_EQ(absl::StrContains(status.message(), "has to end"), sticky);
    SetDevice(kMemory);
    if (sticky) continue;
    FGNN_ASSERT_OK(cuda_->Evaluate(Scored(), Splits()).status());
  }
}

TEST_F(CudaEvaluationTest, RanksEdges) {
  spec_ = SmallLinkJob(folder_ / "data");
  Open();
  const EdgeView edges(&cpu_->dataset().graph());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected,
                            cpu_->RankEdges(Scored(), {edges}));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto rankings,
                            cuda_->RankEdges(Scored(), {edges}));
  EXPECT_GT(simt::GetFakeCounts().launches, 0U);
  EXPECT_NEAR(rankings[0].mrr, expected[0].mrr, 1e-3);
  EXPECT_NEAR(rankings[0].mean_rank, expected[0].mean_rank,
              0.01 * expected[0].mean_rank);
}

}  // namespace
}  // namespace fgnn
