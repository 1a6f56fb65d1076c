#include "shared/graph/book/own_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "shared/graph/book/partition_book.h"
#include "shared/graph/host_rows.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

class OwnRowsTest : public testing::Test {
 protected:
  // Returns a book that puts vertex v into fine part parts[v].
  PartitionBook BookOf(const std::vector<uint8_t>& parts) {
    const auto bytes = PartitionBook::ToBytes(parts);
    EXPECT_THAT(bytes, IsOk());
    const auto file = temp_.path() / "book.bin";
    std::ofstream(file, std::ios::binary) << *bytes;
    auto book = PartitionBook::OpenFile(file, parts.size());
    EXPECT_THAT(book, IsOk());
    return *std::move(book);
  }
  // Returns so many parts, which repeat after no power of two.
  static std::vector<uint8_t> SpreadParts(size_t num_nodes) {
    std::vector<uint8_t> parts(num_nodes);
    for (size_t v = 0; v < num_nodes; ++v) {
      parts[v] = static_cast<uint8_t>(v * v * 7 % 61 % kFineParts);
    }
    return parts;
  }

  TempFolder temp_;
};

TEST_F(OwnRowsTest, EachVertexIsARowOfExactlyOneOwner) {
  for (const size_t num_nodes : {1, 63, 64, 65, 1000}) {
    const std::vector<uint8_t> parts = SpreadParts(num_nodes);
    const PartitionBook book = BookOf(parts);
    for (const uint32_t owners : {1U, 2U, 3U, 64U}) {
      SCOPED_TRACE(std::to_string(num_nodes) + " nodes, owners " +
                   std::to_string(owners));
      uint64_t rows = 0;
      for (uint32_t owner = 0; owner < owners; ++owner) {
        const OwnRows own(book, {.owners = owners, .owner = owner});
        uint64_t row = 0;
        for (GlobalId v = 0; v < num_nodes; ++v) {
          ASSERT_EQ(own.Has(v), OwnerOfPart(parts[v], owners) == owner) << v;
          if (own.Has(v)) {
            ASSERT_EQ(own.RowOf(v), row++) << v;
          }
        }
        EXPECT_EQ(own.num_rows(), row);
        rows += row;
      }
      EXPECT_EQ(rows, num_nodes);
    }
  }
}

TEST_F(OwnRowsTest, AnOwnerMayHaveNoVertex) {
  const OwnRows own(BookOf({0, 63, 0}), {.owners = 3, .owner = 1});
  EXPECT_EQ(own.num_rows(), 0U);
  for (GlobalId v = 0; v < 3; ++v) EXPECT_FALSE(own.Has(v));
}

}  // namespace
}  // namespace fgnn
