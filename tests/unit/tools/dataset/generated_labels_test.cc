// What a classifier finds in generated features and structure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/tools/dataset/generated_graph.h"
#include "tools/dataset/generating/generate.h"

namespace fgnn {
namespace {

// Classifies by the nearest mean of the train set: a vertex by its features,
// and by the mean of its neighbours' features.
class NearestMean {
 public:
  explicit NearestMean(const Dataset& dataset)
      : dataset_(dataset), columns_(dataset.features().columns) {}

  double AccuracyOfFeatures() const {
    return Accuracy([this](uint32_t v) { return Row(v); });
  }
  double AccuracyOfNeighbourhoods() const {
    return Accuracy([this](uint32_t v) { return MeanOfNeighbours(v); });
  }

 private:
  using Vector = std::vector<double>;

  Vector Row(uint32_t v) const {
    const auto* row =
        reinterpret_cast<const float*>(dataset_.features().row(v));
    return Vector(row, row + columns_);
  }

  Vector MeanOfNeighbours(uint32_t v) const {
    Vector mean(columns_);
    const auto indptr = dataset_.graph().indptr;
    for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
      const Vector row = Row(IndicesOf(dataset_)[static_cast<size_t>(e)]);
      for (size_t i = 0; i < columns_; ++i) mean[i] += row[i];
    }
    for (double& x : mean) {
      x /= std::max<double>(1, static_cast<double>(indptr[v + 1] - indptr[v]));
    }
    return mean;
  }

  double Accuracy(const std::function<Vector(uint32_t)>& embed) const {
    std::vector<Vector> means(dataset_.num_classes(), Vector(columns_));
    std::vector<double> counts(dataset_.num_classes());
    for (const int64_t v : dataset_.train()) {
      const auto label =
          static_cast<size_t>(dataset_.labels()[static_cast<size_t>(v)]);
      const Vector x = embed(static_cast<uint32_t>(v));
      for (size_t i = 0; i < columns_; ++i) means[label][i] += x[i];
      counts[label] += 1;
    }
    double right = 0;
    for (const int64_t v : dataset_.test()) {
      const Vector x = embed(static_cast<uint32_t>(v));
      size_t best = 0;
      double least = 1e300;
      for (size_t c = 0; c < means.size(); ++c) {
        double distance = 0;
        for (size_t i = 0; i < columns_; ++i) {
          const double d = x[i] - means[c][i] / std::max(counts[c], 1.0);
          distance += d * d;
        }
        if (distance < least) {
          least = distance;
          best = c;
        }
      }
      right += static_cast<double>(dataset_.labels()[static_cast<size_t>(v)] ==
                                   static_cast<int64_t>(best));
    }
    return right / static_cast<double>(dataset_.test().size());
  }

  const Dataset& dataset_;
  size_t columns_;
};

TEST(GeneratedLabelsTest, OfSbmAreLearntFromFeaturesAndBetterWithStructure) {
  const TempFolder folder;
  SbmOptions options = SmallSbm(folder / "s");
  options.common.train_fraction = 0.5;
  FGNN_ASSERT_OK(GenerateSbm(options).status());
  const Dataset dataset = Open(folder / "s");
  const NearestMean classifier(dataset);
  // One in five is right by chance.
  const double features = classifier.AccuracyOfFeatures();
  EXPECT_GT(features, 0.5);
  EXPECT_LT(features, 0.95);
  EXPECT_GT(classifier.AccuracyOfNeighbourhoods(), features + 0.03);
}

TEST(GeneratedLabelsTest, OfRmatAreLearntInPart) {
  const TempFolder folder;
  RmatOptions options = SmallRmat(folder / "r");
  options.common.feature_columns = 32;
  options.common.train_fraction = 0.5;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  const Dataset dataset = Open(folder / "r");
  EXPECT_GT(NearestMean(dataset).AccuracyOfFeatures(), 0.5);
  size_t same = 0;
  ForEachEdge(dataset, [&](uint32_t u, uint32_t v, size_t) {
    same += static_cast<size_t>(dataset.labels()[u] == dataset.labels()[v]);
  });
  std::vector<double> shares(5);
  for (const int64_t label : dataset.labels()) {
    shares[static_cast<size_t>(label)] += 1.0 / 4096;
  }
  double chance = 0;
  for (const double share : shares) chance += share * share;
  EXPECT_GT(
      static_cast<double>(same) / static_cast<double>(dataset.num_edges()),
      chance + 0.05);
}

TEST(GeneratedLabelsTest, ConnectedOnesLeaveOutVerticesWithoutEdges) {
  const TempFolder folder;
  RmatOptions options = SmallRmat(folder / "all");
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  options.common.out = folder / "connected";
  options.connected_labels = true;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  const Dataset all = Open(folder / "all");
  const Dataset connected = Open(folder / "connected");
  const auto indptr = connected.graph().indptr;
  size_t labelled = 0;
  for (uint32_t v = 0; v < connected.num_nodes(); ++v) {
    const bool has_edge = indptr[v] < indptr[v + 1];
    EXPECT_EQ(connected.labels()[v], has_edge ? all.labels()[v] : -1) << v;
    labelled += static_cast<size_t>(has_edge);
  }
  // Some have none, or the test says nothing.
  ASSERT_LT(labelled, connected.num_nodes());
  EXPECT_EQ(connected.train().size() + connected.valid().size() +
                connected.test().size(),
            labelled);
  for (const int64_t v : connected.train()) {
    EXPECT_GE(connected.labels()[static_cast<size_t>(v)], 0) << v;
  }
}

}  // namespace
}  // namespace fgnn
