#include "trainer_service/daemon/training_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <string>
#include <vector>

#include "shared/device/anonymous_memory.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/backend/cpu_factory.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "tools/dataset/generating/generate.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kProfiledMiB = uint64_t{1} << 20;
constexpr uint64_t kWideNodes = 4096;
constexpr uint64_t kWideColumns = 1024;

class TrainingProfileTest : public testing::Test {
 protected:
  // Every vertex of kWideNodes is an input node: 16 MiB of features.
  JobSpec WideJob() {
    RmatOptions options;
    options.common.out = folder_ / "wide";
    options.common.feature_columns = kWideColumns;
    options.common.num_classes = 3;
    options.scale = 12;
    options.edge_factor = 2;
    EXPECT_THAT(GenerateRmat(options), IsOk());
    return SmallJob(options.common.out);
  }

  const TempFolder folder_;
  const std::vector<HopSize> wide_hops_ = {{8, 64, 100},
                                           {64, kWideNodes, 5000}};
};

TEST_F(TrainingProfileTest, MeasuresAStepOfTheJobsModel) {
  WriteSmallDataset(folder_ / "data");
  const JobSpec spec = SmallJob(folder_ / "data");
  FGNN_ASSERT_OK_AND_ASSIGN(
      const TrainingProfile needs,
      ProfileTraining(spec, std::vector<HopSize>{{8, 40, 60}, {40, 100, 90}}, 2,
                      CpuFactory()));
  EXPECT_EQ(needs.num_parameters, SmallSegmentOptions("job").num_parameters);
  EXPECT_EQ(needs.optimizer_floats_per_parameter, 2U);
  EXPECT_GT(needs.seconds_per_batch, 0);
  EXPECT_GT(needs.program_bytes, 0U);
  EXPECT_EQ(needs.checkpoint_bytes, needs.num_parameters * 3 * sizeof(float));
}

// Hosts of a job compare it, whose numbers of threads and batches differ.
TEST_F(TrainingProfileTest, ArithmeticIsOfTheJobAlone) {
  WriteSmallDataset(folder_ / "data");
  JobSpec spec = SmallJob(folder_ / "data");
  const auto arithmetic = [&](uint64_t edges, int num_threads) {
    return ProfileTraining(spec,
                           std::vector<HopSize>{{8, 40, edges}, {40, 100, 90}},
                           num_threads, CpuFactory())
        .value_or(TrainingProfile())
        .arithmetic;
  };
  const Arithmetic one = arithmetic(60, 1);
  EXPECT_EQ(one.kind, "cores");
  EXPECT_EQ(arithmetic(20, 2), one);
  spec.training.precision = "bf16";
  const Arithmetic half = arithmetic(60, 1);
  EXPECT_NE(half.gradient_crc, one.gradient_crc);
  EXPECT_EQ(half.step_crc, one.step_crc);
  spec.training.clip_norm = 0.5;
  EXPECT_NE(arithmetic(60, 1).step_crc, one.step_crc);
  EXPECT_EQ(arithmetic(60, 1).gradient_crc, half.gradient_crc);
}

// Nor do the rows that each of them has.
TEST_F(TrainingProfileTest, ArithmeticIsThatOfAHostFolderToo) {
  WriteSmallDataset(folder_ / "data");
  CutInTwo(folder_ / "data", folder_ / "hosts");
  std::vector<TrainingProfile> profiles;
  for (const std::string name : {"data", "hosts/host0", "hosts/host1"}) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        profiles.emplace_back(),
        ProfileTraining(SmallJob(folder_ / name),
                        std::vector<HopSize>{{8, 40, 60}, {40, 100, 90}}, 1,
                        CpuFactory()));
    EXPECT_EQ(profiles.back().arithmetic, profiles.front().arithmetic);
    EXPECT_GT(profiles.back().step_bytes, 0U);
  }
}

TEST_F(TrainingProfileTest, TheOptimizersStateIsCounted) {
  WriteSmallDataset(folder_ / "data");
  JobSpec spec = SmallJob(folder_ / "data");
  spec.training.optimizer = "sgd";
  for (const uint32_t floats : {0, 1}) {
    spec.training.momentum = 0.9 * floats;
    FGNN_ASSERT_OK_AND_ASSIGN(
        const TrainingProfile needs,
        ProfileTraining(spec, std::vector<HopSize>{{8, 40, 60}, {40, 100, 90}},
                        1, CpuFactory()));
    EXPECT_EQ(needs.optimizer_floats_per_parameter, floats);
    EXPECT_EQ(needs.checkpoint_bytes,
              needs.num_parameters * (1 + floats) * sizeof(float));
  }
}

TEST_F(TrainingProfileTest, FeaturesOfTheBatchAndOfThoseThatWaitAreCounted) {
  JobSpec spec = WideJob();
  spec.model.input_dropout = 0.5;  // So that they are copied.
  const uint64_t features = kWideNodes * kWideColumns * sizeof(float);
  const auto step_bytes = [&](uint32_t ahead, uint32_t trainers) {
    spec.features.ahead = ahead;
    spec.trainers = trainers;
    const auto needs = ProfileTraining(spec, wide_hops_, 1, CpuFactory());
    EXPECT_THAT(needs, IsOk());
    return needs.ok() ? needs->step_bytes : 0;
  };
  EXPECT_GE(step_bytes(0, 1), features);
  EXPECT_GE(step_bytes(2, 1), 3 * features);
  // No more wait than the three batches of a step and those of the next one,
  // or a third of them. The rest of a step takes about the same each time.
  const uint64_t six_wait = step_bytes(9, 1);
  const uint64_t two_wait = step_bytes(9, 3);
  EXPECT_GE(six_wait, 7 * features);
  EXPECT_GE(two_wait, 3 * features);
  EXPECT_NEAR(six_wait - two_wait, 4 * features, 2 * features);
}

// Its rows are copied while the next batch is extracted. The table that finds
// them has two entries of 8 bytes for each.
TEST_F(TrainingProfileTest, TheBatchBeforeIsCountedIfTheNextOneCopiesRows) {
  JobSpec spec = WideJob();
  spec.features.store = "disk";
  const uint64_t features = kWideNodes * kWideColumns * sizeof(float);
  const auto profile = [&](const char* match, uint32_t ahead) {
    spec.features.match = match;
    spec.features.ahead = ahead;
    return ProfileTraining(spec, wide_hops_, 1, CpuFactory())
        .value_or(TrainingProfile());
  };
  const TrainingProfile without = profile("off", 0);
  EXPECT_GE(without.step_bytes, features);
  EXPECT_EQ(without.match_bytes, 0U);
  const TrainingProfile one_more = profile("auto", 0);
  EXPECT_GE(one_more.step_bytes, 2 * features);
  EXPECT_GE(one_more.match_bytes, features + 2 * kWideNodes * 16);
  EXPECT_LT(one_more.match_bytes, features + features / 10);
  // The thread ahead may copy from it while the loop extracts another batch.
  const TrainingProfile ahead = profile("auto", 1);
  EXPECT_GE(ahead.step_bytes, 3 * features);
  EXPECT_GE(ahead.match_bytes, features + 3 * kWideNodes * 16);
  // Batches wait in any case.
  const TrainingProfile far_ahead = profile("auto", 3);
  EXPECT_GE(far_ahead.match_bytes, 3 * kWideNodes * 16);
  EXPECT_LT(far_ahead.match_bytes, features / 10);
}

TEST_F(TrainingProfileTest, FeaturesThatAreReadInPlaceAreNot) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer keeps shadows of what is read, in memory "
                  "that is measured";
#endif
#endif
  const JobSpec spec = WideJob();
  FGNN_ASSERT_OK_AND_ASSIGN(const TrainingProfile needs,
                            ProfileTraining(spec, wide_hops_, 1, CpuFactory()));
  EXPECT_LT(needs.step_bytes, kWideNodes * kWideColumns * sizeof(float));
}

// Rows that other parts send are copies, and so are those beside them.
TEST_F(TrainingProfileTest, FeaturesThatPartsShareAreCountedAsCopies) {
  JobSpec spec = WideJob();
  spec.training.parts = 2;
  const uint64_t features = kWideNodes * kWideColumns * sizeof(float);
  const auto step_bytes = [&](const char* share_inputs) {
    spec.training.share_inputs = share_inputs;
    const auto needs = ProfileTraining(spec, wide_hops_, 1, CpuFactory());
    EXPECT_THAT(needs, IsOk());
    return needs.ok() ? needs->step_bytes : 0;
  };
  const uint64_t in_place = step_bytes("off");
  EXPECT_GE(step_bytes("on"), in_place + features * 9 / 10);
}

// Activations and their gradients, which are most of this step, are half as
// large.
TEST_F(TrainingProfileTest, Bfloat16OfEveryKindTakesLess) {
  if (kSanitized) {
    GTEST_SKIP() << "sanitizers give freed memory to the next step, so that it "
                    "does not grow";
  }
  RmatOptions options;
  options.common.out = folder_ / "narrow";
  options.common.feature_columns = 4;
  options.common.num_classes = 3;
  options.scale = 12;
  options.edge_factor = 2;
  FGNN_ASSERT_OK(GenerateRmat(options));
  JobSpec spec = SmallJob(options.common.out);
  spec.model.hidden = 512;
  const std::vector<HopSize> hops = {{8, 3000, 4000}, {3000, kWideNodes, 5000}};
  for (const std::string kind : {"graphsage", "gcn", "gin", "gat", "pinsage"}) {
    spec.model.kind = kind;
    spec.training.precision = "f32";
    FGNN_ASSERT_OK_AND_ASSIGN(const TrainingProfile exact,
                              ProfileTraining(spec, hops, 1, CpuFactory()));
    spec.training.precision = "bf16";
    FGNN_ASSERT_OK_AND_ASSIGN(const TrainingProfile rounding,
                              ProfileTraining(spec, hops, 1, CpuFactory()));
    // What a hidden layer makes.
    const uint64_t numbers = 3000 * 512;
    EXPECT_GE(exact.step_bytes, numbers * sizeof(float)) << kind;
    EXPECT_GE(rounding.step_bytes, numbers * sizeof(uint16_t)) << kind;
    EXPECT_LT(rounding.step_bytes, exact.step_bytes * 3 / 4) << kind;
    EXPECT_EQ(rounding.checkpoint_bytes, exact.checkpoint_bytes) << kind;
  }
}

TEST_F(TrainingProfileTest, EvaluationIsOfTheWholeGraphOrNone) {
  JobSpec spec = WideJob();
  spec.model.hidden = 256;
  const uint64_t arrays = 2 * kWideNodes * 256 * sizeof(float);
  FGNN_ASSERT_OK_AND_ASSIGN(const TrainingProfile with,
                            ProfileTraining(spec, wide_hops_, 1, CpuFactory()));
  EXPECT_GE(with.evaluation_shared_bytes, arrays);
  EXPECT_LE(with.evaluation_shared_bytes, arrays + arrays / 100);
  EXPECT_LE(with.evaluation_bytes, arrays);
  spec.training.evaluate_every = 0;
  FGNN_ASSERT_OK_AND_ASSIGN(const TrainingProfile without,
                            ProfileTraining(spec, wide_hops_, 1, CpuFactory()));
  EXPECT_EQ(without.evaluation_bytes, 0U);
  EXPECT_EQ(without.evaluation_shared_bytes, 0U);
}

TEST_F(TrainingProfileTest, LinkPredictionIsMeasuredWithItsPairsAndRanks) {
  WriteSmallDataset(folder_ / "data");
  const std::vector<HopSize> hops = {{24, 60, 60}, {60, 100, 90}};
  FGNN_ASSERT_OK_AND_ASSIGN(
      const TrainingProfile vertices,
      ProfileTraining(SmallJob(folder_ / "data"), hops, 1, CpuFactory()));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const TrainingProfile links,
      ProfileTraining(SmallLinkJob(folder_ / "data"), hops, 1, CpuFactory()));
  EXPECT_EQ(links.num_parameters,
            SmallLinkSegmentOptions("job").num_parameters);
  // The embeddings of all vertices.
  EXPECT_GE(links.evaluation_bytes,
            vertices.evaluation_bytes + kSmallNodes * 16 * sizeof(float));
}

TEST_F(TrainingProfileTest, TargetsOfASplitAreCounted) {
  WriteSmallDataset(folder_ / "numbers", false, Objective::kValues);
  WriteSmallDataset(folder_ / "sets", false, Objective::kLabelSets);
  const std::vector<HopSize> hops = {{24, 60, 60}, {60, 100, 90}};
  const auto profile_of = [&](const char* data, const char* task) {
    JobSpec spec = SmallJob(folder_ / data);
    spec.training.task = task;
    return ProfileTraining(spec, hops, 1, CpuFactory());
  };
  FGNN_ASSERT_OK_AND_ASSIGN(const TrainingProfile numbers,
                            profile_of("numbers", "node_regression"));
  FGNN_ASSERT_OK_AND_ASSIGN(const TrainingProfile sets,
                            profile_of("sets", "multi_label_classification"));
  EXPECT_EQ(numbers.num_parameters, SmallSegmentOptions("job").num_parameters);
  // 30 vertices to validate: a number for each of their columns; or a loss for
  // each of them, and counts of each class.
  EXPECT_EQ(numbers.evaluation_shared_bytes - 30 * kSmallClasses * 4,
            sets.evaluation_shared_bytes - 30 * 4 - kSmallClasses * 16);
  EXPECT_THAT(profile_of("sets", "node_regression"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no targets.npy of f32")));
}

TEST_F(TrainingProfileTest, WhatCannotFitIsRefusedBeforeItIsMade) {
  WriteSmallDataset(folder_ / "data");
  JobSpec spec = SmallJob(folder_ / "data");
  spec.model.hidden = 65536;
  spec.limits.memory_bytes = kProfiledMiB;
  // 16 GiB of edges, if they were made.
  const std::vector<HopSize> hops = {{8, 40, 60}, {40, 120, UINT32_MAX}};
  EXPECT_THAT(ProfileTraining(spec, hops, 1, CpuFactory()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("limits.memory"), HasSubstr("at least"),
                             HasSubstr("features of a batch 960 B"),
                             HasSubstr("1.00 MiB allowed"),
                             HasSubstr("model.hidden"))));
}

// A layer's outputs are 3,000 x 16,384 numbers, 188 MiB. What is tried stays
// below the limit.
TEST_F(TrainingProfileTest, AStepThatDoesNotFitIsNotTried) {
#ifdef FGNN_SANITIZED
  GTEST_SKIP() << "sanitizers keep memory of their own, which is measured";
#endif
  RmatOptions options;
  options.common.out = folder_ / "narrow";
  options.common.feature_columns = 4;
  options.common.num_classes = 3;
  options.scale = 12;
  options.edge_factor = 2;
  FGNN_ASSERT_OK(GenerateRmat(options));
  JobSpec spec = SmallJob(options.common.out);
  spec.model.hidden = 16384;
  const std::vector<HopSize> hops = {{8, 3000, 4000}, {3000, kWideNodes, 5000}};
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t before, AnonymousMemoryBytes());
  constexpr uint64_t kAllowed = 100 * kProfiledMiB;
  spec.limits.memory_bytes = before + kAllowed;
  std::ofstream("/proc/self/clear_refs") << "5";  // The most so far is now.
  rusage use = {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &use), 0);
  const uint64_t most_before = static_cast<uint64_t>(use.ru_maxrss) * 1024;
  EXPECT_THAT(
      ProfileTraining(spec, hops, 2, CpuFactory()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("limits.memory: the job needs about "),
                     HasSubstr(" MiB for one training step"),
                     HasSubstr(" allowed"), HasSubstr("model.hidden"))));
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &use), 0);
  const uint64_t most = static_cast<uint64_t>(use.ru_maxrss) * 1024;
  EXPECT_LE(most - most_before, kAllowed);
  spec.limits.memory_bytes = before + 16 * kAllowed;
  EXPECT_THAT(ProfileTraining(spec, hops, 2, CpuFactory()), IsOk());
}

TEST_F(TrainingProfileTest, HopsOfNoBatchAreRefused) {
  WriteSmallDataset(folder_ / "data");
  const JobSpec spec = SmallJob(folder_ / "data");
  EXPECT_THAT(
      ProfileTraining(spec, std::vector<HopSize>{{8, 4, 60}}, 1, CpuFactory()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hops[")));
  EXPECT_THAT(
      ProfileTraining(spec, {}, 1, CpuFactory()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hops: 0")));
  // The model has two layers.
  EXPECT_THAT(
      ProfileTraining(spec, std::vector<HopSize>{{8, 40, 60}}, 1, CpuFactory()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the model has 2 layers")));
}

}  // namespace
}  // namespace fgnn
