// A trainer and libfgnn_torch.so each have a copy of what they share: the
// models and errors of one have to be those of the other. This program links no
// libtorch.
#include "trainer_service/nn/torch/torch_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/nn/made_up_batch.h"

namespace fgnn {
namespace {

class TorchLibraryTest : public testing::Test {
 protected:
  TorchLibraryTest() : team_(1) {
    options_.kind = "plugin";
    options_.plugin = "sage";
    options_.layers = 1;
    options_.input_columns = 3;
    options_.num_classes = 2;
  }

  absl::StatusOr<std::unique_ptr<Model>> MakeModel() {
    const auto library = OpenTorchLibrary();
    if (!library.ok()) return library.status();
    return (*library)->make_model(options_, TEST_PLUGINS, /*seed=*/1, &team_);
  }

  ModelOptions options_;
  ThreadTeam team_;
};

TEST_F(TorchLibraryTest, ComputesAGradientForATrainer) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto model, MakeModel());
  std::vector<float> weights(model->num_parameters());
  model->Initialize(1, absl::MakeSpan(weights));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto made_up,
                            MadeUpBatch::Make({{3, 4, 2}}, 4));
  std::vector<float> features(4 * options_.input_columns, 0.5F);
  TrainingBatch batch;
  batch.task = &made_up->task();
  batch.labels = made_up->labels();
  batch.features = absl::MakeSpan(features);
  std::vector<float> gradient(weights.size());

  FGNN_ASSERT_OK_AND_ASSIGN(
      const BatchResult result,
      model->Gradient(weights, batch, absl::MakeSpan(gradient)));
  EXPECT_GT(result.loss, 0);
  EXPECT_THAT(gradient, testing::Contains(testing::Ne(0.0F)));
  EXPECT_GT(team_.tasks_begun(), 0U);
}

TEST_F(TorchLibraryTest, PassesErrorsToATrainer) {
  options_.plugin = "absent";
  EXPECT_EQ(MakeModel().status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace fgnn
