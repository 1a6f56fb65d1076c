#include "sampler_service/job/job_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "shared/graph/book/making/book_parts.h"
#include "shared/graph/book/partition_book.h"
#include "tests/unit/shared/graph/book/book_dataset.h"

namespace fgnn {
namespace {

class JobBookTest : public BookDatasetTest {
 protected:
  Dataset OpenRandom() { return Open(200, RandomEdges(200, 1'000), {1, 2}); }
};

TEST_F(JobBookTest, MakesTheDefaultBookOnceAndKeepsASoundOne) {
  const Dataset dataset = OpenRandom();
  ASSERT_THAT(PartitionBook::Open(dataset),
              StatusIs(absl::StatusCode::kNotFound));
  FGNN_ASSERT_OK(MakeMissingBook(dataset, "7", nullptr));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook made,
                            PartitionBook::Open(dataset));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const PartitionBook expected,
      MakeBook(dataset, BookMethod::kMetis, {},
               [](std::string_view) { return absl::OkStatus(); }));
  EXPECT_EQ(made.key(), expected.key());

  const std::vector<uint8_t> others(dataset.num_nodes(), 3);
  FGNN_ASSERT_OK(PartitionBook::Save(dataset, others));
  FGNN_ASSERT_OK(MakeMissingBook(dataset, "7", nullptr));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook kept,
                            PartitionBook::Open(dataset));
  EXPECT_EQ(kept.PartOf(0), 3);
  EXPECT_NE(kept.key(), made.key());
}

TEST_F(JobBookTest, AnotherBookThanTheJobBeganWithIsRefused) {
  const Dataset dataset = OpenRandom();
  EXPECT_THAT(OpenJobBook(dataset),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("make one with 'fgnn dataset")));
  FGNN_ASSERT_OK(MakeMissingBook(dataset, "7", nullptr));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book, OpenJobBook(dataset));
  EXPECT_THAT(OpenJobBook(dataset, book.key()), IsOk());
  const std::vector<uint8_t> others(dataset.num_nodes(), 3);
  FGNN_ASSERT_OK(PartitionBook::Save(dataset, others));
  EXPECT_THAT(OpenJobBook(dataset, book.key()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::HasSubstr("or start a new run")));
}

TEST_F(JobBookTest, ACallerThatHasGoneEndsIt) {
  const Dataset dataset = OpenRandom();
  EXPECT_THAT(
      MakeMissingBook(dataset, "7",
                      [] { return absl::CancelledError("it has gone"); }),
      StatusIs(absl::StatusCode::kCancelled, "it has gone"));
  EXPECT_THAT(PartitionBook::Open(dataset),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace fgnn
