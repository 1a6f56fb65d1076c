// Rows that are written to files: probabilities and embeddings.
#include "trainer_service/infer/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/infer/small_graph.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

constexpr uint32_t kClasses = 4;

class PredictRowsTest : public testing::Test {
 protected:
  absl::StatusOr<NpyArray> Predict(SmallGraph& world, PredictionKind kind) {
    FGNN_ASSIGN_OR_RETURN(
        RowFile rows,
        PredictRows(world.Input(), AllVertices(kNodes), kind, out_));
    FGNN_RETURN_IF_ERROR(rows.Commit());
    return NpyArray::Open(out_);
  }

  std::vector<std::string> FilesLeft() const {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  const TempFolder folder_;
  const std::filesystem::path out_ = folder_.path() / "rows.npy";
};

TEST_F(PredictRowsTest, ProbabilitiesAreTheSoftmaxOfTheLogits) {
  SmallGraph world(2, kClasses, RandomFeatures());
  const std::vector<float> logits = world.Logits();
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray array,
                            Predict(world, PredictionKind::kProbabilities));
  EXPECT_THAT(array.header().shape, ElementsAre(kNodes, kClasses));
  const absl::Span<const float> rows = array.As<float>();
  for (size_t i = 0; i < rows.size(); ++i) {
    const float* row = &logits[i - i % kClasses];
    double total = 0;
    for (size_t c = 0; c < kClasses; ++c) total += std::exp(double{row[c]});
    ASSERT_NEAR(rows[i], std::exp(double{logits[i]}) / total, 1e-6) << i;
  }
  EXPECT_THAT(FilesLeft(), ElementsAre("rows.npy"));
}

TEST_F(PredictRowsTest, RowsAreInTheOrderOfTheVertices) {
  SmallGraph world(2, kClasses, RandomFeatures());
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray all,
                            Predict(world, PredictionKind::kProbabilities));
  const std::vector<GlobalId> some = {1200, 7, 1200, 0};
  const std::filesystem::path out = folder_.path() / "some.npy";
  FGNN_ASSERT_OK_AND_ASSIGN(
      RowFile rows,
      PredictRows(world.Input(), some, PredictionKind::kProbabilities, out));
  FGNN_ASSERT_OK(rows.Commit());
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray array, NpyArray::Open(out));
  ASSERT_THAT(array.header().shape, ElementsAre(some.size(), kClasses));
  for (size_t i = 0; i < some.size(); ++i) {
    for (size_t c = 0; c < kClasses; ++c) {
      EXPECT_EQ(array.As<float>()[i * kClasses + c],
                all.As<float>()[some[i] * kClasses + c]);
    }
  }
}

TEST_F(PredictRowsTest, TheLastLayerMakesLogitsOfEmbeddings) {
  SmallGraph world(3, kClasses, RandomFeatures());
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray array,
                            Predict(world, PredictionKind::kEmbeddings));
  ASSERT_THAT(array.header().shape, ElementsAre(kNodes, kHidden));
  const absl::Span<const float> rows = array.As<float>();
  SmallGraph last(1, kClasses, std::vector<float>(rows.begin(), rows.end()));
  const absl::Span<const float> weights = world.weights();
  const size_t own = last.weights().size();
  std::copy(weights.end() - static_cast<ptrdiff_t>(own), weights.end(),
            last.weights().begin());
  const std::vector<float> expected = world.Logits();
  const std::vector<float> logits = last.Logits();
  for (size_t i = 0; i < logits.size(); ++i) {
    ASSERT_NEAR(logits[i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
  }
}

TEST_F(PredictRowsTest, AModelOfOneLayerHasNoEmbeddings) {
  SmallGraph world(1, kClasses, RandomFeatures());
  EXPECT_THAT(
      PredictRows(world.Input(), {0, 1}, PredictionKind::kEmbeddings, out_),
      InvalidArgument("one layer has no embeddings"));
  EXPECT_THAT(FilesLeft(), ElementsAre());
}

TEST_F(PredictRowsTest, AnInferenceThatEndsLeavesTheFileBefore) {
  SmallGraph world(2, kClasses, RandomFeatures());
  ASSERT_THAT(WriteFileAtomically(out_, "before"), IsOk());
  InferenceInput input = world.Input();
  input.check = [] { return absl::CancelledError("enough"); };
  EXPECT_THAT(PredictRows(input, {0, 1}, PredictionKind::kProbabilities, out_),
              Cancelled());
  EXPECT_EQ(*ReadSmallFile(out_), "before");
  EXPECT_THAT(FilesLeft(), ElementsAre("rows.npy"));
}

TEST_F(PredictRowsTest, NamesTheFileThatCannotBeWritten) {
  SmallGraph world(2, kClasses, RandomFeatures());
  const std::filesystem::path out = folder_.path() / "gone" / "rows.npy";
  EXPECT_THAT(
      PredictRows(world.Input(), {0, 1}, PredictionKind::kProbabilities, out),
      NotFound(out.string()));
}

TEST(CheckPredictionsPathTest, TextHoldsClassesAndLinks) {
  for (const PredictionKind kind :
       {PredictionKind::kClasses, PredictionKind::kValues,
        PredictionKind::kScores, PredictionKind::kNeighbours}) {
    EXPECT_THAT(CheckPredictionsPath("a.csv", kind), IsOk());
  }
  for (const PredictionKind kind :
       {PredictionKind::kClasses, PredictionKind::kProbabilities,
        PredictionKind::kEmbeddings, PredictionKind::kScores,
        PredictionKind::kNeighbours}) {
    EXPECT_THAT(CheckPredictionsPath("a.npy", kind), IsOk());
    EXPECT_THAT(CheckPredictionsPath("a.txt", kind),
                InvalidArgument("--out a.txt"));
  }
  EXPECT_THAT(CheckPredictionsPath("a.csv", PredictionKind::kEmbeddings),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--out a.csv: end it in .npy; a .csv file holds --what "
                       "classes, values, scores or neighbours"));
}

TEST(PredictionKindOfTest, NamesThoseThereAre) {
  EXPECT_EQ(*PredictionKindOf("embeddings"), PredictionKind::kEmbeddings);
  EXPECT_EQ(*PredictionKindOf("neighbours"), PredictionKind::kNeighbours);
  EXPECT_THAT(PredictionKindOf("logits"),
              InvalidArgument("classes, probabilities, embeddings, "
                              "scores, neighbours, values"));
}

}  // namespace
}  // namespace fgnn
