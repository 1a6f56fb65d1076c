// The job store's SQLite database: a file in WAL mode that syncs each commit.
#ifndef FGNN_SCHEDULER_STORE_STORE_DATABASE_H_
#define FGNN_SCHEDULER_STORE_STORE_DATABASE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/store/store_statement.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fgnn {

// The tables of a database.
struct StoreSchema {
  int64_t version = 1;      // Version of the tables, 1 or more.
  const char* tables = "";  // SQL that makes those that are missing.
};

// Not thread-safe.
class StoreDatabase {
 public:
  // Opens the file, and makes it and its tables if they are missing. DataLoss:
  // the file is no database, is damaged, or has tables of another version.
  static absl::StatusOr<StoreDatabase> Open(const std::filesystem::path& path,
                                            const StoreSchema& schema);
  // Opens a second connection to the same file, for reading only.
  absl::StatusOr<StoreDatabase> OpenReader() const;
  StoreDatabase(StoreDatabase&&) noexcept = default;
  StoreDatabase& operator=(StoreDatabase&&) noexcept = default;

  absl::Status Execute(const char* sql);
  // Returns a statement, which is kept by its text for the next call.
  absl::StatusOr<StoreStatement> Prepare(const std::string& sql);
  bool InTransaction() const;
  // Returns how many rows the last statement has changed.
  int NumChanged() const;
  // Returns the error for a result code of SQLite; `doing` names the action.
  absl::Status ErrorOf(int code, const char* doing) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  explicit StoreDatabase(sqlite3* database) : database_(database) {}
  static absl::StatusOr<StoreDatabase> OpenFile(const char* path, int flags);
  absl::StatusOr<int64_t> ReadVersion();
  absl::Status MakeTables(const StoreSchema& schema);
  absl::Status CheckIsSound();

  std::unique_ptr<sqlite3, Close> database_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>> prepared_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_STORE_DATABASE_H_
