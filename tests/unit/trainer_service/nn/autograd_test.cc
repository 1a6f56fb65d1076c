// The model's gradients against those of PyTorch's autograd on plain dense
// operations in f64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/autograd_cases.h"
#include "tests/unit/trainer_service/nn/autograd_reference.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

std::vector<Case> Cases() {
  std::vector<Case> cases = CasesOfAnyDevice();
  cases.push_back(MakeCase("ThreeWideLayers", 3, 100, 65, 47));
  cases.push_back(MakeCase("ManyRows", 2, 30, 16, 5));
  cases.back().options.num_seeds = 1100;
  cases.back().options.largest_degree = 12;
  // Several tasks, each of which drops numbers of its own.
  cases.push_back(MakeCase("DropoutOfManyRows", 2, 12, 16, 5));
  cases.back().options.num_seeds = 500;
  cases.back().options.model.dropout = 0.5;
  cases.push_back(MakeCase("EdgeWeights", 3, 20, 33, 5));
  cases.back().options.edge_weights = true;
  return cases;
}

// Of a model that predicts links, whose embeddings have `hidden` columns.
std::vector<Case> LinkCases() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, uint32_t layers, uint32_t hidden,
                       uint32_t num_positives, uint32_t num_pairs) {
    cases.push_back(MakeCase(std::move(name), layers, 12, hidden, 0));
    cases.back().options.model.objective = Objective::kLinks;
    cases.back().options.num_positives = num_positives;
    cases.back().options.num_pairs = num_pairs;
  };
  add("LinksOfOneLayer", 1, 8, 3, 6);
  add("Links", 2, 17, 5, 15);
  add("OnlyEdges", 2, 9, 6, 6);
  add("LinksDropout", 3, 20, 4, 20);
  cases.back().options.model.dropout = 0.4;
  add("ManyLinks", 2, 33, 600, 1800);
  cases.back().options.num_seeds = 700;
  add("LinksNormResidual", 3, 21, 5, 20);
  cases.back().options.model.normalization = "layer";
  cases.back().options.model.residual = true;
  return cases;
}

// Of a model that predicts numbers or sets of classes.
std::vector<Case> TargetCases() {
  std::vector<Case> cases;
  for (const Objective objective :
       {Objective::kValues, Objective::kLabelSets}) {
    const std::string name =
        objective == Objective::kValues ? "Values" : "LabelSets";
    const auto add = [&](const std::string& of, uint32_t layers,
                         uint32_t hidden, uint32_t columns) {
      cases.push_back(MakeCase(name + of, layers, 12, hidden, columns));
      cases.back().options.model.objective = objective;
    };
    add("OfOneColumn", 2, 9, 1);
    add("OfOneLayer", 1, 1, 5);
    add("", 2, 16, 19);
    add("Dropout", 3, 24, 7);
    cases.back().options.model.dropout = 0.4;
    // Several tasks.
    add("OfManySeeds", 2, 8, 33);
    cases.back().options.num_seeds = 600;
    add("OfOneSeed", 2, 8, 3);
    cases.back().options.num_seeds = 1;
  }
  return cases;
}

class AutogradTest : public testing::TestWithParam<Parameters> {
 protected:
  // libtorch's threads are OpenMP's, whose joins ThreadSanitizer does not see.
  static void SetUpTestSuite() { torch::set_num_threads(1); }

  // Fills the members below.
  void RunBothIn(Precision precision, uint64_t seed = 1) {
    const ProductOrder order = std::get<2>(GetParam());
    RandomBatchOptions options = OptionsOf(GetParam(), precision);
    options.seed = seed;
    RandomBatch batch(options);
    ThreadTeam team(2);
    const auto model = MakeCpuModel(options.model, &team, order).value();
    const std::vector<float> weights = RandomWeights(*model, 8 + seed);
    gradient.assign(model->num_parameters(), 1e30F);
    FGNN_ASSERT_OK_AND_ASSIGN(
        result,
        model->Gradient(weights, batch.batch(), absl::MakeSpan(gradient)));
    if (precision == Precision::kFloat32) {
      reference = ByAutograd(*model, weights, batch);
      return;
    }
    stored = ByAutograd(*model, weights, batch, Rounding::kOnCpu, order);
    reference = OnSidesOf(Rounding::kOnCpu, *model, weights, batch, order);
  }

  BatchResult result;
  std::vector<float> gradient;
  Reference reference;  // Without rounding.
  Reference stored;     // With that of a model in bf16.
};

TEST_P(AutogradTest, GradientEqualsThatOfAutograd) {
  RunBothIn(Precision::kFloat32);
  EXPECT_NEAR(result.loss, reference.loss, 1e-5 * (1 + reference.loss));
  EXPECT_EQ(result.num_correct, reference.num_correct);
  const double largest = reference.gradient.abs().max().item<double>();
  const auto expected = reference.gradient.accessor<double, 1>();
  for (size_t i = 0; i < gradient.size(); ++i) {
    ASSERT_NEAR(gradient[i], expected[static_cast<int64_t>(i)],
                1e-5 * largest + 1e-7)
        << "weight " << i << " of " << gradient.size();
  }
}

class Bfloat16AutogradTest : public AutogradTest {};

// bfloat16 has 8 bits: every number that is stored is off by up to 2^-9 of it.
// This moves some numbers to the other side of a ReLU, and makes other messages
// the largest. A gradient may so change by a tenth, also of f64, and if nothing
// but features and weights is rounded. So the model's is compared with two:
// - One of f64 that rounds the numbers that the model stores. What differs are
//   gradients, which the model rounds up to four times a layer. Their errors
//   grow where gradients of few seeds cancel, in one of five batches.
// - One of f64 that rounds nothing, but is on the model's sides. The rounding
//   of numbers is seen here. It grows where a sum is small beside its terms.
TEST_P(Bfloat16AutogradTest, GradientIsThatOfWhatIsStored) {
  std::vector<double> of_stored;
  std::vector<double> of_unrounded;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    RunBothIn(Precision::kBfloat16, seed);
    if (HasFatalFailure()) return;
    EXPECT_NEAR(result.loss, stored.loss, 1e-3 * (1e-3 + stored.loss));
    EXPECT_NEAR(result.loss, reference.loss, 1e-2 * (1e-3 + reference.loss));
    of_stored.push_back(stored.DistanceOf(gradient));
    of_unrounded.push_back(reference.DistanceOf(gradient));
  }
  std::sort(of_stored.begin(), of_stored.end());
  std::sort(of_unrounded.begin(), of_unrounded.end());
  EXPECT_LE(of_stored[3], 1e-2);
  EXPECT_LE(of_stored[4], 2e-2);
  EXPECT_LE(of_unrounded[2], 1e-2);
}

auto WithOrders() {
  return OfSums(Cases(),
                {ProductOrder::kAggregateFirst, ProductOrder::kTransformFirst,
                 ProductOrder::kCheapest});
}
INSTANTIATE_TEST_SUITE_P(Shapes, AutogradTest, WithOrders(), NameOfCase);
INSTANTIATE_TEST_SUITE_P(Shapes, Bfloat16AutogradTest, WithOrders(),
                         NameOfCase);

INSTANTIATE_TEST_SUITE_P(ShapesOfMessages, AutogradTest,
                         OfMessages({"pool"}, Cases()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(ShapesOfMessages, Bfloat16AutogradTest,
                         OfMessages({"pool"}, Cases()), NameOfCase);

INSTANTIATE_TEST_SUITE_P(ShapesOfPinsage, AutogradTest,
                         OfMessages({"pinsage"}, WithoutNorm(Cases())),
                         NameOfCase);
INSTANTIATE_TEST_SUITE_P(ShapesOfPinsage, Bfloat16AutogradTest,
                         OfMessages({"pinsage"}, WithoutNorm(Cases())),
                         NameOfCase);

std::vector<Case> AttentionCases() {
  std::vector<Case> cases = WithAttention(Cases());
  cases.push_back(MakeCase("AttentionDropoutOfManyRows", 2, 30, 24, 5));
  cases.back().options.model.heads = 3;
  cases.back().options.model.attention_dropout = 0.3;
  cases.back().options.num_seeds = 700;
  cases.back().options.largest_degree = 12;
  return cases;
}
INSTANTIATE_TEST_SUITE_P(AttentionShapes, AutogradTest,
                         OfMessages({"gat"}, AttentionCases()), NameOfCase);
INSTANTIATE_TEST_SUITE_P(AttentionShapes, Bfloat16AutogradTest,
                         OfMessages({"gat"}, AttentionCases()), NameOfCase);

INSTANTIATE_TEST_SUITE_P(Links, AutogradTest,
                         OfMessages({"graphsage", "pool"}, LinkCases()),
                         NameOfCase);

INSTANTIATE_TEST_SUITE_P(Links, Bfloat16AutogradTest,
                         OfMessages({"graphsage"}, LinkCases()), NameOfCase);

INSTANTIATE_TEST_SUITE_P(Targets, AutogradTest,
                         OfMessages({"graphsage", "gat", "gcn"}, TargetCases()),
                         NameOfCase);

INSTANTIATE_TEST_SUITE_P(Targets, Bfloat16AutogradTest,
                         OfMessages({"graphsage", "gat"}, TargetCases()),
                         NameOfCase);

}  // namespace
}  // namespace fgnn
