#include "sampler_service/sampling/alias_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using testing::ElementsAre;

// What a draw hits with, by the cells of a list.
std::vector<double> OddsOf(absl::Span<const AliasCell> cells) {
  std::vector<double> odds(cells.size());
  const double each = 1.0 / static_cast<double>(cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const double stays = cells[i].threshold * 0x1p-32;
    odds[i] += each * stays;
    odds.at(cells[i].other) += each * (1 - stays);
  }
  return odds;
}

TEST(AliasTablesTest, OddsAreProportionalToWeights) {
  reference::TestDraws draws(5);
  reference::AdjacencyLists lists(300);
  std::vector<float> weights;
  for (uint32_t v = 0; v < lists.size(); ++v) {
    lists[v].assign(v == 299 ? 100000 : v % 70, 0);
    const int spread = static_cast<int>(draws.Below(30));
    for (size_t i = 0; i < lists[v].size(); ++i) {
      const auto exponent = static_cast<double>(draws.Below(1000)) / 1000;
      const bool none = i > 0 && draws.Below(8) == 0;
      weights.push_back(
          none ? 0.0F
               : static_cast<float>(std::pow(10, spread * (exponent - 0.5))));
    }
  }
  const CscGraph graph(lists);
  for (const uint32_t num_threads : {1U, 4U}) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const AliasTables tables,
        AliasTables::Build(graph.view(), weights, num_threads));
    EXPECT_FALSE(tables.all_positive());
    size_t first = 0;
    for (uint32_t v = 0; v < lists.size(); ++v) {
      SCOPED_TRACE(absl::StrCat("vertex=", v));
      const size_t degree = lists[v].size();
      const auto odds = OddsOf(tables.cells().subspan(first, degree));
      double total = 0;
      for (size_t i = 0; i < degree; ++i) {
        total += static_cast<double>(weights[first + i]);
      }
      for (size_t i = 0; i < degree; ++i) {
        const double weight = static_cast<double>(weights[first + i]);
        if (weight == 0) {
          ASSERT_EQ(odds[i], 0);
        } else {
          ASSERT_NEAR(odds[i], weight / total, 0x1p-31);
        }
      }
      first += degree;
    }
  }
}

TEST(AliasTablesTest, NamesTheEdgeThatIsWrong) {
  const CscGraph graph({{1, 2}, {}, {0, 1, 1}});
  const auto refusal = [&](std::vector<float> weights) {
    return AliasTables::Build(graph.view(), weights, 2).status();
  };
  EXPECT_THAT(refusal({1, 2, 3, 0, 5}), IsOk());
  EXPECT_THAT(refusal({1, 2, 3, -1, 5}),
              InvalidArgument("edge 3, into vertex 2, is -1"));
  EXPECT_THAT(refusal({1, NAN, 3, -1, 5}),
              InvalidArgument("edge 1, into vertex 0, is nan"));
  EXPECT_THAT(refusal({1, 2, 3, std::numeric_limits<float>::infinity(), 5}),
              InvalidArgument("edge 3, into vertex 2, is inf"));
  EXPECT_THAT(refusal({1, 2, 0, 0, 0}),
              InvalidArgument("all 3 edges into vertex 2"));
  EXPECT_THAT(refusal({1, 2, 3}), InvalidArgument("3 weights"));
}

// Another process changes the weights while they are read, and changes them
// back.
TEST(AliasTablesTest, NamesWhatItHasReadOfWeightsThatChange) {
  const CscGraph graph({{1, 2}, {0}, {0, 1, 1}});
  constexpr size_t kEdges = 6;
  void* const shared =
      ::mmap(nullptr, kEdges * sizeof(float), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const weights = static_cast<volatile float*>(shared);
  for (size_t e = 0; e < kEdges; ++e) weights[e] = 1;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) {
      weights[3] = -1;
      weights[3] = 1;
    }
  }
  int num_refused = 0;
  for (int i = 0; i < 10'000 && num_refused < 100; ++i) {
    const absl::Status status =
        AliasTables::Build(graph.view(),
                           {static_cast<const float*>(shared), kEdges}, 1)
            .status();
    if (status.ok()) continue;
    ++num_refused;
    EXPECT_THAT(status, InvalidArgument("edge 3, into vertex 2, is -1"));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::munmap(shared, kEdges * sizeof(float));
  EXPECT_GT(num_refused, 0);
}

TEST(AliasTablesTest, RefusesIndicesThatAreNoVertices) {
  const std::vector<int64_t> indptr = {0, 2, 3};
  const std::vector<float> weights = {1, 2, 3};
  for (const int64_t index : {int64_t{2}, int64_t{-1}, int64_t{1} << 32}) {
    const std::vector<int64_t> indices = {0, index, 1};
    EXPECT_THAT(AliasTables::Build({indptr, absl::Span<const int64_t>(indices)},
                                   weights, 1)
                    .status(),
                InvalidArgument(absl::StrCat(" is ", index)))
        << index;
  }
}

class AliasFileTest : public DatasetTest {
 protected:
  std::vector<std::string> AliasFiles() {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder() / "derived")) {
      const std::string name = entry.path().filename();
      if (name.starts_with("alias-")) names.push_back(name);
    }
    return names;
  }
  std::vector<float> WeightsOf(const std::string& file) {
    auto dataset = Dataset::Open(folder(), Validation::kShapes);
    EXPECT_THAT(dataset, IsOk());
    auto tables = AliasTables::Open(*dataset, file, 1);
    EXPECT_THAT(tables, IsOk());
    if (!tables.ok()) return {};
    auto built = AliasTables::Build(dataset->graph(), tables->weights(), 1);
    EXPECT_THAT(built, IsOk());
    EXPECT_EQ(std::memcmp(tables->cells().data(), built->cells().data(),
                          tables->cells().size() * sizeof(AliasCell)),
              0);
    return {tables->weights().begin(), tables->weights().end()};
  }
};

TEST_F(AliasFileTest, OfAnotherStateIsReplacedAndNotKept) {
  content_.weights = {1, 1, 2, 3, 4, 5};
  Write();
  EXPECT_THAT(WeightsOf("edge_weights.npy"), ElementsAre(1, 1, 2, 3, 4, 5));
  EXPECT_THAT(AliasFiles(), ElementsAre("alias-edge_weights.npy.bin"));
  const auto file = folder() / "derived/alias-edge_weights.npy.bin";
  const auto built = std::filesystem::last_write_time(file);
  WeightsOf("edge_weights.npy");
  EXPECT_EQ(std::filesystem::last_write_time(file), built);

  content_.weights = {6, 1, 2, 3, 4, 5};
  Write();
  EXPECT_THAT(WeightsOf("edge_weights.npy"), ElementsAre(6, 1, 2, 3, 4, 5));
  EXPECT_THAT(AliasFiles(), ElementsAre("alias-edge_weights.npy.bin"));

  std::filesystem::resize_file(file, 100);
  EXPECT_THAT(WeightsOf("edge_weights.npy"), ElementsAre(6, 1, 2, 3, 4, 5));
}

TEST_F(AliasFileTest, WeightsOfVerticesGoToTheirEdges) {
  Write();
  const std::vector<float> of_vertices = {10, 11, 12, 13};
  WriteArray(folder() / "age.npy", NpyType::kF32, of_vertices);
  for (int time = 0; time < 2; ++time) {  // Built, and read back.
    EXPECT_THAT(WeightsOf("age.npy"), ElementsAre(11, 12, 13, 10, 11, 12));
  }
  EXPECT_THAT(AliasFiles(), ElementsAre("alias-age.npy.bin"));
}

}  // namespace
}  // namespace fgnn
