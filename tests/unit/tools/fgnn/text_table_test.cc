#include "tools/fgnn/reports/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fgnn {
namespace {

TEST(TextTableTest, AlignsColumnsAndEndsNoLineInSpaces) {
  TextTable table({"stage", "seconds", ""}, {1});
  table.AddRow({"sample", "1.5"});
  table.AddRow({"x", "10.25", "note"});
  EXPECT_EQ(table.ToString(),
            "stage   seconds\n"
            "sample      1.5\n"
            "x         10.25  note\n");
}

}  // namespace
}  // namespace fgnn
