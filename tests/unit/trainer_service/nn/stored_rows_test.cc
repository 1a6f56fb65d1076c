// First layers that read rows where a store has them, beside copies of the same
// rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "tests/unit/trainer_service/nn/stored_features.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"

namespace fgnn {
namespace {

class StoredRowsTest : public testing::TestWithParam<FeatureType> {};

INSTANTIATE_TEST_SUITE_P(AllTypes, StoredRowsTest,
                         testing::Values(FeatureType::kFloat32,
                                         FeatureType::kFloat16,
                                         FeatureType::kBfloat16),
                         [](const auto& test) {
                           return std::string(NameOf(test.param));
                         });

TEST_P(StoredRowsTest, MeansHaveTheBitsOfTheMeansOfCopies) {
  constexpr size_t kRows = 200;
  constexpr int64_t kLists = 90;
  std::mt19937_64 random(4);
  // Empty, of one, of many, and of one row again and again.
  std::vector<uint32_t> indptr = {0};
  std::vector<uint32_t> indices;
  for (int64_t i = 0; i < kLists; ++i) {
    for (uint64_t e = random() % 12; e > 0; --e) {
      indices.push_back(i % 5 == 0 ? 7 : random() % kRows);
    }
    indptr.push_back(static_cast<uint32_t>(indices.size()));
  }
  const RowLists lists = {indptr.data(), indices.data()};
  for (const int64_t columns : {1, 5, 37, 100, 1050}) {
    SCOPED_TRACE(columns);
    const StoredFeatures features(GetParam(), kRows,
                                  static_cast<size_t>(columns), /*seed=*/8);
    for (const auto& [first, last] : std::vector<std::pair<int64_t, int64_t>>{
             {0, kLists}, {31, 64}, {9, 9}}) {
      const auto size = static_cast<size_t>((last - first) * columns);
      std::vector<float> expected(size + 1, -1);
      std::vector<float> means(size + 1, -1);
      MeanOfLists(lists, first, last, features.floats().data(), columns,
                  expected.data());
      MeanOfLists(lists, first, last, features.rows(), columns, means.data());
      EXPECT_TRUE(SameBits(means, expected)) << first << " to " << last;
    }
  }
}

RandomBatchOptions SmallBatch() {
  RandomBatchOptions options;
  options.model.layers = 2;
  options.model.hidden = 24;
  options.model.input_columns = 19;
  options.model.num_classes = 5;
  options.model.dropout = 0.4;
  // Several tasks and partial sums.
  options.num_seeds = 300;
  options.largest_degree = 9;
  options.growth = 3;
  return options;
}

TEST_P(StoredRowsTest, GradientsHaveTheBitsOfThoseOfCopies) {
  const std::vector<std::tuple<std::string, Precision, uint64_t>> cases = {
      {"graphsage", Precision::kFloat32, 1},
      {"graphsage", Precision::kFloat32, 19},
      {"graphsage", Precision::kFloat32, 64},
      {"graphsage", Precision::kBfloat16, 1},
      {"graphsage", Precision::kBfloat16, 19},
      {"gcn", Precision::kFloat32, 1},
      {"gcn", Precision::kFloat32, 19},
      {"gcn", Precision::kFloat32, 64},
      {"gcn", Precision::kBfloat16, 19},
      // The gradient of eps needs the destinations' own rows.
      {"gin", Precision::kFloat32, 1},
      {"gin", Precision::kFloat32, 19},
      {"gin", Precision::kBfloat16, 19}};
  for (const auto& [kind, precision, columns] : cases) {
    RandomBatchOptions options = SmallBatch();
    options.model.kind = kind;
    options.model.input_columns = columns;
    options.model.precision = precision;
    RandomBatch random(options);
    const StoredFeatures features(GetParam(), random.task().input_nodes.size(),
                                  columns, /*seed=*/3);
    TrainingBatch copied = random.batch();
    std::vector<float> copies = features.floats();
    copied.features = absl::MakeSpan(copies);
    TrainingBatch stored = random.batch();
    stored.features = {};
    stored.stored_rows = features.rows();
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(absl::StrCat(kind, ", precision ",
                                static_cast<int>(precision), ", ", columns,
                                " columns, ", threads, " threads"));
      ThreadTeam team(threads);
      const auto model =
          MakeCpuModel(options.model, &team, ProductOrder::kAggregateFirst)
              .value();
      const Outcome expected =
          GradientOf(*model, RandomWeights(*model, 5), copied);
      const Outcome outcome =
          GradientOf(*model, RandomWeights(*model, 5), stored);
      EXPECT_EQ(outcome.result.loss, expected.result.loss);
      EXPECT_TRUE(SameBits(outcome.gradient, expected.gradient));
      // And after a batch of the other kind.
      EXPECT_TRUE(SameBits(
          GradientOf(*model, RandomWeights(*model, 5), copied).gradient,
          expected.gradient));
    }
  }
}

// Half as many bytes may be read twice as often.
TEST_P(StoredRowsTest, AreTakenWhileEachIsReadAFewTimes) {
  ThreadTeam team(1);
  RandomBatchOptions options = SmallBatch();
  options.largest_degree = 0;
  const auto model =
      MakeCpuModel(options.model, &team, ProductOrder::kAggregateFirst).value();
  RandomBatch random(options);
  TaskView task = random.task();
  BlockView& block = task.hops[1];
  const size_t limit = block.num_sources * 6 / BytesOf(GetParam());
  const std::vector<uint32_t> indices(limit + 1);
  block.indices = absl::MakeConstSpan(indices).subspan(0, limit);
  EXPECT_TRUE(model->TakesStoredRows(task, GetParam()));
  block.indices = indices;
  EXPECT_FALSE(model->TakesStoredRows(task, GetParam()));
}

TEST(StoredRowsRefusalTest, ModelsThatNeedCopiesSaySo) {
  ThreadTeam team(1);
  const auto refused = [&](const RandomBatchOptions& options,
                           ProductOrder order) {
    auto model = MakeCpuModel(options.model, &team, order);
    EXPECT_THAT(model, IsOk());
    RandomBatch random(options);
    EXPECT_FALSE(
        (*model)->TakesStoredRows(random.task(), FeatureType::kFloat32));
    const StoredFeatures features(FeatureType::kFloat32,
                                  random.task().input_nodes.size(),
                                  options.model.input_columns, /*seed=*/3);
    TrainingBatch batch = random.batch();
    batch.features = {};
    batch.stored_rows = features.rows();
    const std::vector<float> weights = RandomWeights(**model, 5);
    std::vector<float> gradient(weights.size());
    EXPECT_THAT((*model)->Gradient(weights, batch, absl::MakeSpan(gradient)),
                InvalidArgument("stored rows"));
  };
  RandomBatchOptions options = SmallBatch();
  refused(options, ProductOrder::kTransformFirst);
  options.model.input_dropout = 0.2;
  refused(options, ProductOrder::kAggregateFirst);
}

TEST(StoredRowsRefusalTest, EveryInputNodeHasOneRow) {
  const RandomBatchOptions options = SmallBatch();
  RandomBatch random(options);
  ThreadTeam team(1);
  const auto model =
      MakeCpuModel(options.model, &team, ProductOrder::kAggregateFirst).value();
  const std::vector<float> weights = RandomWeights(*model, 5);
  std::vector<float> gradient(weights.size());
  const StoredFeatures features(FeatureType::kFloat32,
                                random.task().input_nodes.size(),
                                options.model.input_columns, /*seed=*/3);
  const auto refused = [&](const TrainingBatch& batch) {
    EXPECT_THAT(model->Gradient(weights, batch, absl::MakeSpan(gradient)),
                InvalidArgument("input nodes"));
  };
  TrainingBatch batch = random.batch();
  batch.stored_rows = features.rows();
  refused(batch);  // It has copies too.
  batch.features = {};
  batch.stored_rows.rows.remove_suffix(1);
  refused(batch);
  batch.stored_rows.rows = {};
  refused(batch);
}

}  // namespace
}  // namespace fgnn
