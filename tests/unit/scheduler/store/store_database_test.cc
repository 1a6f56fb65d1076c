#include "scheduler/store/store_database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr StoreSchema kSchema = {
    .version = 5,
    .tables = "CREATE TABLE IF NOT EXISTS words (word TEXT NOT NULL);"};

class StoreDatabaseTest : public testing::Test {
 protected:
  absl::StatusOr<StoreDatabase> Open(const StoreSchema& schema) {
    return StoreDatabase::Open(folder_ / "words.sqlite", schema);
  }
  TempFolder folder_;
};

TEST_F(StoreDatabaseTest, TablesAreMadeOnce) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(StoreDatabase made, Open(kSchema));
    FGNN_ASSERT_OK(made.Execute("INSERT INTO words VALUES ('one')"));
  }
  FGNN_ASSERT_OK_AND_ASSIGN(StoreDatabase database, Open(kSchema));
  FGNN_ASSERT_OK_AND_ASSIGN(StoreStatement words,
                            database.Prepare("SELECT * FROM words"));
  ASSERT_EQ(words.Step(), SQLITE_ROW);
  EXPECT_EQ(words.Text(0), "one");
  EXPECT_EQ(words.Step(), SQLITE_DONE);
}

TEST_F(StoreDatabaseTest, AnotherVersionIsRefused) {
  FGNN_ASSERT_OK(Open(kSchema).status());
  for (const int64_t version : {4, 6}) {
    EXPECT_THAT(
        Open({.version = version, .tables = kSchema.tables}),
        StatusIs(absl::StatusCode::kDataLoss,
                 AllOf(HasSubstr((folder_ / "words.sqlite").string()),
                       HasSubstr("schema version 5"),
                       HasSubstr(absl::StrCat("program reads ", version)))));
  }
  FGNN_ASSERT_OK(Open(kSchema).status());
}

TEST_F(StoreDatabaseTest, ADamagedVersionBelowZeroIsRefused) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(StoreDatabase database, Open(kSchema));
    FGNN_ASSERT_OK(database.Execute("PRAGMA user_version = -1"));
  }
  EXPECT_THAT(Open(kSchema), StatusIs(absl::StatusCode::kDataLoss,
                                      HasSubstr("schema version -1")));
}

}  // namespace
}  // namespace fgnn
