// The job store's SQLite database: a file in WAL mode that syncs each commit.
#ifndef FGNN_SCHEDULER_STORE_STORE_DATABASE_H_
#define FGNN_SCHEDULER_STORE_STORE_DATABASE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/store/store_statement.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fgnn {

// The tables of a database, by their version.
struct StoreSchema {
  int64_t baseline = 1;  // The oldest version that can be read, 1 or more.
  // SQL that makes what is missing of the newest version's tables.
  const char* tables = "";
  // SQL that leads from each version to the next one, from the baseline on.
  std::vector<const char*> steps = {};

  int64_t version() const {
    return baseline + static_cast<int64_t>(steps.size());
  }
};

// Not thread-safe.
class StoreDatabase {
 public:
  // Makes the file where it is missing, and brings its tables to the schema's
  // version. DataLoss: it is no database, it is damaged, or it has a version
  // that the schema does not know.
  static absl::StatusOr<StoreDatabase> Open(const std::filesystem::path& path,
                                            const StoreSchema& schema);
  // Another one of the same file, for reading alone.
  absl::StatusOr<StoreDatabase> OpenReader() const;
  StoreDatabase(StoreDatabase&&) noexcept = default;
  StoreDatabase& operator=(StoreDatabase&&) noexcept = default;

  absl::Status Execute(const char* sql);
  // Statements are kept for the next time, by their text.
  absl::StatusOr<StoreStatement> Prepare(const std::string& sql);
  bool InTransaction() const;
  // Returns how many rows the last statement has changed.
  int NumChanged() const;
  // Returns the error of a result's code, with what was being done.
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
