#include "scheduler/store/store_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kTablesOf3[] = R"sql(
CREATE TABLE IF NOT EXISTS words (word TEXT NOT NULL);
)sql";
constexpr char kTablesOf5[] = R"sql(
CREATE TABLE IF NOT EXISTS words (
  word TEXT NOT NULL,
  count INTEGER NOT NULL,
  factor REAL NOT NULL
);
)sql";

StoreSchema Schema3() { return {.baseline = 3, .tables = kTablesOf3}; }
StoreSchema Schema5() {
  return {.baseline = 3,
          .tables = kTablesOf5,
          .steps = {"ALTER TABLE words ADD COLUMN count INTEGER NOT NULL "
                    "DEFAULT 2",
                    "ALTER TABLE words ADD COLUMN factor REAL NOT NULL "
                    "DEFAULT 0.5; UPDATE words SET factor = count * 2.0"}};
}

class StoreDatabaseTest : public testing::Test {
 protected:
  absl::StatusOr<StoreDatabase> Open(const StoreSchema& schema) {
    return StoreDatabase::Open(folder_ / "words.sqlite", schema);
  }
  TempFolder folder_;
};

TEST_F(StoreDatabaseTest, StepsLeadFromAnEarlierVersionToTheNewest) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(StoreDatabase old, Open(Schema3()));
    FGNN_ASSERT_OK(old.Execute("INSERT INTO words VALUES ('one')"));
  }
  for (int start = 0; start < 2; ++start) {  // Each step is made once.
    FGNN_ASSERT_OK_AND_ASSIGN(StoreDatabase database, Open(Schema5()));
    FGNN_ASSERT_OK_AND_ASSIGN(StoreStatement words,
                              database.Prepare("SELECT * FROM words"));
    ASSERT_EQ(words.Step(), SQLITE_ROW);
    EXPECT_EQ(words.Text(0), "one");
    EXPECT_EQ(words.Integer(1), 2);
    EXPECT_EQ(words.Real(2), 4.0);
    EXPECT_EQ(words.Step(), SQLITE_DONE);
  }
}

TEST_F(StoreDatabaseTest, AVersionThatTheSchemaDoesNotKnowIsRefused) {
  FGNN_ASSERT_OK(Open(Schema5()).status());
  EXPECT_THAT(Open(Schema3()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("schema version 5"),
                             HasSubstr("this program knows 3"))));
  EXPECT_THAT(Open({.baseline = 6, .tables = kTablesOf5}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("schema version 5"),
                             HasSubstr("this program reads 6"))));
  FGNN_ASSERT_OK(Open(Schema5()).status());
}

TEST_F(StoreDatabaseTest, ADamagedVersionBelowZeroIsRefused) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(StoreDatabase database, Open(Schema5()));
    FGNN_ASSERT_OK(database.Execute("PRAGMA user_version = -1"));
  }
  EXPECT_THAT(Open(Schema5()), StatusIs(absl::StatusCode::kDataLoss,
                                        HasSubstr("schema version -1")));
}

}  // namespace
}  // namespace fgnn
