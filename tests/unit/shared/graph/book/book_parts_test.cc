#include "shared/graph/book/making/book_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shared/graph/book/book_figures.h"
#include "shared/graph/book/making/metis_parts.h"
#include "shared/graph/book/partition_book.h"
#include "tests/unit/shared/graph/book/book_dataset.h"

namespace fgnn {
namespace {

absl::Status Ignore(std::string_view) { return absl::OkStatus(); }

class BookPartsTest : public BookDatasetTest {
 protected:
  static std::vector<uint8_t> Make(const Dataset& dataset, BookMethod method,
                                   const BookBalance& balance = {}) {
    auto parts = MakeBookParts(dataset, method, balance, Ignore);
    EXPECT_THAT(parts, IsOk());
    return parts.ok() ? *parts : std::vector<uint8_t>();
  }
  static OwnerFigures Figures(const Dataset& dataset,
                              const std::vector<uint8_t>& parts,
                              uint32_t owners) {
    EXPECT_THAT(PartitionBook::Save(dataset, parts), IsOk());
    auto book = PartitionBook::Open(dataset);
    EXPECT_THAT(book, IsOk());
    auto counts = CountByParts(dataset, *book);
    EXPECT_THAT(counts, IsOk());
    return FiguresOf(*counts, owners);
  }
  static constexpr BookMethod kMethods[] = {
      BookMethod::kMetis, BookMethod::kStream, BookMethod::kRandom};
};

TEST_F(BookPartsTest, AreAPartitionTheSameEachTime) {
  for (const uint64_t num_nodes : {1, 2, 3, 63, 64, 65, 500}) {
    for (const uint64_t num_edges :
         {uint64_t{0}, num_nodes / 2, 5 * num_nodes}) {
      const Dataset dataset =
          Open(num_nodes, RandomEdges(num_nodes, num_edges), {0});
      for (const BookMethod method : kMethods) {
        SCOPED_TRACE(testing::Message()
                     << num_nodes << " vertices, " << num_edges
                     << " edges, method " << static_cast<int>(method));
        const std::vector<uint8_t> parts = Make(dataset, method);
        ASSERT_EQ(parts.size(), num_nodes);
        EXPECT_LT(*std::max_element(parts.begin(), parts.end()), kFineParts);
        EXPECT_EQ(Make(dataset, method), parts);
      }
    }
  }
}

TEST_F(BookPartsTest, KeepClustersTogetherForAnyNumberOfOwners) {
  // 128 rings of 20 vertices, and 500 vertices without an edge.
  std::vector<int64_t> train;
  for (int64_t v = 0; v < 2560; v += 5) train.push_back(v);
  const Dataset dataset = Open(128 * 20 + 500, Rings(128, 20), train);
  for (const uint32_t owners : {2U, 4U, 8U}) {
    const double metis =
        Figures(dataset, Make(dataset, BookMethod::kMetis), owners).local_edges;
    const double stream =
        Figures(dataset, Make(dataset, BookMethod::kStream), owners)
            .local_edges;
    const double random =
        Figures(dataset, Make(dataset, BookMethod::kRandom), owners)
            .local_edges;
    EXPECT_GT(metis, 0.9) << owners;
    EXPECT_GT(stream, 1.2 / owners) << owners;
    EXPECT_NEAR(random, 1.0 / owners, 0.05) << owners;
  }
}

TEST_F(BookPartsTest, BalanceWhatIsAskedFor) {
  // Rings of all vertices' work, and as many vertices without work.
  std::vector<int64_t> train;
  for (int64_t v = 0; v < 640; ++v) train.push_back(v);
  const Dataset dataset = Open(2 * 128 * 20, Rings(128, 20), train);
  for (const BookMethod method : {BookMethod::kMetis, BookMethod::kStream}) {
    SCOPED_TRACE(static_cast<int>(method));
    const OwnerFigures all = Figures(dataset, Make(dataset, method), 4);
    EXPECT_LT(all.vertices.skew(), 0.15);
    EXPECT_LT(all.work.skew(), 0.15);
    EXPECT_LT(all.train.skew(), 0.15);
    const OwnerFigures train_alone = Figures(
        dataset, Make(dataset, method, {.vertices = false, .work = false}), 4);
    EXPECT_LT(train_alone.train.skew(), 0.15);
    EXPECT_GT(train_alone.vertices.skew(), 0.5);
  }
  // All work is in the second half of the vertices.
  std::vector<uint32_t> visits(2 * 128 * 20);
  std::fill(visits.begin() + 128 * 20, visits.end(), 1'000'000'000U);
  const std::vector<uint8_t> parts =
      Make(dataset, BookMethod::kMetis,
           {.vertices = false, .train = false, .visits = visits});
  std::vector<uint64_t> of_owners(4);
  for (size_t v = 128 * 20; v < parts.size(); ++v) {
    ++of_owners[OwnerOfPart(parts[v], 4)];
  }
  const auto [least, most] =
      std::minmax_element(of_owners.begin(), of_owners.end());
  EXPECT_LT(*most - *least, 64U);
}

TEST_F(BookPartsTest, MetisRefusesMoreVerticesThanItsIntegersCount) {
  // As many vertices would not fit into a test: a kind of weight counts alike.
  const BookWeights weights = {.kinds = 3'000'000'000};
  const std::vector<EdgeOffset> indptr = {0, 0};
  const CscView graph = {.indptr = indptr,
                         .indices = absl::Span<const uint32_t>()};
  EXPECT_THAT(MetisParts(graph, weights, Ignore),
              InvalidArgument("2,147,483,647", "3,000,000,000",
                              "take --method stream"));
}

}  // namespace
}  // namespace fgnn
