// What inference takes is what it says it takes, and no multiple of the graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "shared/device/anonymous_memory.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tools/dataset/generating/generate.h"
#include "trainer_service/backend/cpu/host_model.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/predict.h"

namespace fgnn {
namespace {

#ifdef FGNN_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kColumns = 100;
constexpr uint32_t kHidden = 128;

class InferenceMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) {
      GTEST_SKIP() << "sanitizers keep memory of their own, which is measured";
    }
    RmatOptions options;
    options.common.out = folder_ / "graph";
    options.common.feature_columns = kColumns;
    options.common.num_classes = 7;
    options.scale = 15;
    options.edge_factor = 4;
    FGNN_ASSERT_OK(GenerateRmat(options));
    ModelOptions model;
    model.layers = 3;
    model.hidden = kHidden;
    model.input_columns = kColumns;
    model.num_classes = 7;
    FGNN_ASSERT_OK_AND_ASSIGN(
        host_, HostModel::OpenForModel(folder_ / "graph", model, 2));
    num_nodes_ = host_->dataset().num_nodes();
    const uint64_t size = host_->model().num_parameters();
    weights_ = absl::MakeSpan(weights_memory_.Reserve(size), size);
    host_->model().Initialize(1, weights_);
    FGNN_ASSERT_OK_AND_ASSIGN(before_, AnonymousMemoryBytes());
  }

  // Looks at the memory while it works.
  InferenceInput Watched() {
    ScoredWeights scored;
    scored.values = weights_;
    scored.check = [this]() -> absl::Status {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto now = AnonymousMemoryBytes();
      if (!now.ok()) return now.status();
      most_ = std::max(most_, *now);
      return absl::OkStatus();
    };
    return host_->ForInference(scored);
  }

  // The most beyond what there was.
  uint64_t Taken() const { return most_ - std::min(most_, before_); }

  // Of features and of a layer's outputs, twice.
  uint64_t Limit() const {
    return 2 * num_nodes_ * (kColumns + kHidden) * sizeof(float);
  }

  TempFolder folder_;
  std::unique_ptr<HostModel> host_;
  uint64_t num_nodes_ = 0;
  Scratch<float> weights_memory_;
  absl::Span<float> weights_;
  uint64_t before_ = 0;
  std::mutex mutex_;
  uint64_t most_ = 0;  // Guarded by mutex_.
};

TEST_F(InferenceMemoryTest, ClassesTakeWhatWasSaidAndTheAnswer) {
  const InferenceInput input = Watched();
  FGNN_ASSERT_OK(Predict(input, AllVertices(num_nodes_)).status());
  const uint64_t answer =
      num_nodes_ * (sizeof(int64_t) + sizeof(float) + sizeof(GlobalId));
  EXPECT_GE(Taken(), InferenceArrayBytes(input));
  EXPECT_LE(Taken(), InferenceBytes(input) + answer + kMiB);
  EXPECT_LE(Taken(), Limit());
}

TEST_F(InferenceMemoryTest, RowsThatAreWrittenAreNotKept) {
  const InferenceInput input = Watched();
  FGNN_ASSERT_OK(PredictRows(input, AllVertices(num_nodes_),
                             PredictionKind::kEmbeddings,
                             folder_ / "embeddings.npy"));
  EXPECT_GE(Taken(), InferenceArrayBytes(input));
  EXPECT_LE(Taken(),
            InferenceBytes(input) + num_nodes_ * sizeof(GlobalId) + kMiB);
}

TEST_F(InferenceMemoryTest, AllOfItIsGivenBack) {
  FGNN_ASSERT_OK(Predict(Watched(), AllVertices(num_nodes_)).status());
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t after, AnonymousMemoryBytes());
  EXPECT_LE(after, before_ + kMiB);
}

}  // namespace
}  // namespace fgnn
