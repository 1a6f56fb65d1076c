#include "shared/graph/book/book_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/shared/graph/book/book_dataset.h"

namespace fgnn {
namespace {

using BookFiguresTest = BookDatasetTest;

TEST_F(BookFiguresTest, CountWhatEachOwnerHas) {
  // Fine parts 0, 20, 40, 60: owners 0 0 1 1 of 2, and 0 1 2 3 of 4.
  const std::vector<uint8_t> parts = {0, 20, 40, 60};
  const Dataset dataset =
      Open(4, {{1, 0}, {2, 0}, {3, 0}, {0, 1}, {2, 3}, {2, 3}}, {0, 1, 3});
  FGNN_ASSERT_OK(PartitionBook::Save(dataset, parts));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(dataset));
  FGNN_ASSERT_OK_AND_ASSIGN(const BookCounts counts,
                            CountByParts(dataset, book));

  const OwnerFigures two = FiguresOf(counts, 2);
  EXPECT_DOUBLE_EQ(two.local_edges, 4.0 / 6);
  EXPECT_DOUBLE_EQ(two.vertices.skew(), 0);
  EXPECT_EQ(two.work.least, 2U);
  EXPECT_EQ(two.work.most, 4U);
  EXPECT_DOUBLE_EQ(two.work.skew(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(two.train.skew(), 1.0 / 1.5);
  EXPECT_EQ(two.without_vertex, 0U);
  EXPECT_EQ(two.without_train, 0U);

  const OwnerFigures four = FiguresOf(counts, 4);
  EXPECT_DOUBLE_EQ(four.local_edges, 0);
  EXPECT_EQ(four.without_train, 1U);
  EXPECT_EQ(FiguresOf(counts, 64).without_vertex, 60U);
  EXPECT_DOUBLE_EQ(FiguresOf(counts, 1).local_edges, 1);
}

}  // namespace
}  // namespace fgnn
