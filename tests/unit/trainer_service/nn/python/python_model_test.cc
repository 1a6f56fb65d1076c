// A model in a worker without torch: see fake_worker_model.py.
#include "trainer_service/nn/python/python_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/python/worker_folder.h"
#include "tests/unit/trainer_service/nn/random_batch.h"

namespace fgnn {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;

class PythonModelTest : public WorkerTest {
 protected:
  absl::StatusOr<std::unique_ptr<Model>> Make(const std::string& class_name,
                                              bool infers = true,
                                              uint64_t seed = 5) {
    return MakePythonModel(Options(class_name), infers, seed, &team_);
  }
  std::unique_ptr<Model> MakeSound(const std::string& class_name) {
    auto model = Make(class_name);
    EXPECT_THAT(model, IsOk());
    return *std::move(model);
  }
  nlohmann::json Seen() const {
    std::ifstream file(folder_ / "model.py.deaths.seen");
    return nlohmann::json::parse(file);
  }
  size_t Deaths() const {
    std::ifstream file(folder_ / "model.py.deaths");
    std::stringstream text;
    text << file.rdbuf();
    return text.str().size();
  }

  ThreadTeam team_{2};
};

TEST_F(PythonModelTest, HasTheParametersOfTheModule) {
  const auto model = MakeSound("Sound");
  ASSERT_EQ(model->parameters().size(), 3U);
  EXPECT_EQ(model->num_parameters(), 11U);
  EXPECT_EQ(model->parameters()[1].name, "b");
  EXPECT_EQ(model->parameters()[1].offset, 6U);
  EXPECT_THAT(model->parameters()[0].shape, ElementsAre(2, 3));
  // Matrices that are trained.
  EXPECT_TRUE(model->parameters()[0].decay);
  EXPECT_FALSE(model->parameters()[1].decay);
  EXPECT_FALSE(model->parameters()[2].decay);
  std::vector<float> weights(11);
  model->Initialize(0, absl::MakeSpan(weights));
  std::vector<float> expected(11);
  std::iota(expected.begin(), expected.end(), 5.0F);  // From the seed.
  EXPECT_EQ(weights, expected);
}

TEST_F(PythonModelTest, TheWorkerSeesTheBatch) {
  const auto model = MakeSound("Sound");
  std::vector<float> weights(11, 0.5F);
  // The second one needs more memory.
  for (const uint32_t num_seeds : {7, 90'000}) {
    RandomBatch random({.model = Options("Sound"), .num_seeds = num_seeds});
    const auto [result, gradient] = GradientOf(*model, weights, random.batch());
    const double sum = std::accumulate(random.features().begin(),
                                       random.features().end(), 0.0);
    EXPECT_NEAR(result.loss, sum, 1e-3);
    EXPECT_EQ(result.num_correct, 1U);
    EXPECT_THAT(gradient, Each(1.0F));
    const nlohmann::json seen = Seen();
    EXPECT_EQ(seen["labels"].get<std::vector<int64_t>>(), random.labels());
    // The first layer takes the last hop.
    const TaskView& task = random.task();
    EXPECT_EQ(seen["dst"][0], task.hops[1].num_destinations);
    EXPECT_EQ(seen["dst"][1], num_seeds);
    EXPECT_EQ(seen["edges"],
              task.hops[0].indices.size() + task.hops[1].indices.size());
    EXPECT_EQ(seen["batch"], task.seq.value());
    weights.assign(11, 0.5F);
  }
}

TEST_F(PythonModelTest, ABatchHasASeedOfItsOwn) {
  const auto model = MakeSound("Sound");
  const std::vector<float> weights(11);
  RandomBatch random({.model = Options("Sound")});
  std::vector<uint64_t> seeds;
  for (const uint64_t number : {1, 2, 1}) {
    TrainingBatch batch = random.batch();
    batch.batch = number;
    GradientOf(*model, weights, batch);
    seeds.push_back(Seen()["seed"]);
  }
  EXPECT_EQ(seeds[0], seeds[2]);
  EXPECT_NE(seeds[0], seeds[1]);
}

TEST_F(PythonModelTest, ABatchWithoutSeedsAsksNobody) {
  const auto model = MakeSound("DiesAlways");
  RandomBatch random({.model = Options("Sound"), .num_seeds = 0});
  EXPECT_THAT(
      GradientOf(*model, std::vector<float>(11), random.batch()).gradient,
      Each(0.0F));
}

TEST_F(PythonModelTest, InfersLayersWithTheirWeights) {
  const auto model = MakeSound("Sound");
  const std::vector<float> ones(11, 1.0F);
  const std::vector<float> twos(11, 2.0F);
  const std::vector<float> inputs = {1, 10, 100, 1000};
  const uint32_t indptr[] = {0, 1, 1};
  const uint32_t indices[] = {1};
  const auto first = model->Inference(0, ones);
  const auto second = model->Inference(0, twos);
  for (const auto& [inference, weight] :
       {std::pair(&first, 1.0F), {&second, 2.0F}, {&first, 1.0F}}) {
    std::vector<float> out(2 * 3);
    (*inference)
        ->Aggregate({.indptr = indptr, .indices = indices}, 0, 2, inputs.data(),
                    out.data());
    EXPECT_THAT(out, Each(FloatEq(1111 + weight)));
    // The second vertex alone, which has no neighbour.
    (*inference)
        ->Aggregate({.indptr = indptr, .indices = indices}, 1, 2, inputs.data(),
                    out.data());
    EXPECT_THAT(absl::MakeConstSpan(out).first(3),
                Each(FloatEq(1100 + weight)));
  }
}

TEST_F(PythonModelTest, ADeathCostsABatchThatIsDoneAgain) {
  const auto sound = MakeSound("Sound");
  const auto model = MakeSound("DiesTwice");
  RandomBatch random({.model = Options("Sound")});
  const std::vector<float> weights(11, 3.0F);
  const auto expected = GradientOf(*sound, weights, random.batch());
  const auto found = GradientOf(*model, weights, random.batch());
  EXPECT_EQ(Deaths(), 2U);
  EXPECT_EQ(found.gradient, expected.gradient);
  EXPECT_EQ(found.result.loss, expected.result.loss);
}

TEST_F(PythonModelTest, ThreeDeathsAreTooMany) {
  const auto model = MakeSound("DiesAlways");
  RandomBatch random({.model = Options("Sound")});
  const std::vector<float> weights(11);
  std::vector<float> gradient(11);
  EXPECT_THAT(
      model->Gradient(weights, random.batch(), absl::MakeSpan(gradient)),
      FailedPrecondition("model.py: DiesAlways", "signal 9, Killed",
                         "and so did 2 others", "sampling.batch_size"));
  EXPECT_EQ(Deaths(), 3U);
}

TEST_F(PythonModelTest, ADeathWhileItStartsIsOneToo) {
  EXPECT_THAT(Make("DiesInStart"), IsOk());
  EXPECT_EQ(Deaths(), 1U);
}

TEST_F(PythonModelTest, ANewWorkerHasTheSameModule) {
  const auto model = MakeSound("Changes");
  RandomBatch random({.model = Options("Sound")});
  std::vector<float> gradient(11);
  EXPECT_THAT(
      model->Gradient(std::vector<float>(11), random.batch(),
                      absl::MakeSpan(gradient)),
      InvalidArgument("model.py: Changes has changed since the job began"));
}

TEST_F(PythonModelTest, ANewWorkerHasTheSameFile) {
  const auto model = MakeSound("DiesAlways");
  std::ofstream(folder_ / "model.py") << "# Better.";
  RandomBatch random({.model = Options("Sound")});
  std::vector<float> gradient(11);
  EXPECT_THAT(model->Gradient(std::vector<float>(11), random.batch(),
                              absl::MakeSpan(gradient)),
              InvalidArgument("model.py: DiesAlways has changed"));
}

TEST_F(PythonModelTest, AnErrorOfTheModuleIsOneLine) {
  EXPECT_THAT(Make("IsRefused"), NotFound("line\\x1b[2J of a refusal"));
  EXPECT_THAT(Make("IsNotFinite"),
              Aborted("on a dataset of 2 feature columns and 4 classes: not "
                      "finite"));
  EXPECT_THAT(Make("IsDamaged"), DataLoss("description is damaged"));
  EXPECT_THAT(Make("EndsAtOnce"),
              FailedPrecondition("python3 -m fgnn.worker ended with exit code "
                                 "3: no luck today",
                                 "another interpreter"));
}

TEST_F(PythonModelTest, NamesAPackageThatIsNotThere) {
  std::filesystem::remove(folder_ / "fgnn/worker.py");
  EXPECT_THAT(Make("Sound"),
              FailedPrecondition("python3 has no package fgnn", "pip install"));
}

TEST_F(PythonModelTest, WithoutLayersItIsOnlyTrained) {
  EXPECT_THAT(Make("HasNoLayers", /*infers=*/true),
              InvalidArgument("model.py: HasNoLayers has no method layers()",
                              "training.evaluate_every: 0"));
  EXPECT_THAT(Make("HasNoLayers", /*infers=*/false), IsOk());
}

}  // namespace
}  // namespace fgnn
