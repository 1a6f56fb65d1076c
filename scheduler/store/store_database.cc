#include "scheduler/store/store_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Closes the files to all other users. SQLite would make a file that everybody
// may read, and a reader's lock can keep this process from writing. SQLite
// gives the two files beside the database the mode of that one. Files that were
// copied here may be open.
void CloseToOthers(const std::string& path) {
  constexpr mode_t kFileMode = 0600;
  constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;
  // SQLite says what is wrong with a path that cannot be opened.
  const UniqueFd made(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  for (const char* ending : {"", "-wal", "-shm"}) {
    const std::string file = path + ending;
    struct stat info = {};
    if (::stat(file.c_str(), &info) == 0 && (info.st_mode & kOfOthers) != 0) {
      ::chmod(file.c_str(), info.st_mode & 07777 & ~kOfOthers);
    }
  }
}

std::string WayOutOf(const std::string& file) {
  return absl::StrCat("move ", file, " away, with ", file, "-wal and ", file,
                      "-shm if they are there, to start without jobs; "
                      "'sqlite3 ",
                      file, " .recover' prints what can still be read");
}

}  // namespace

void StoreDatabase::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void StoreDatabase::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

absl::Status StoreDatabase::ErrorOf(int code, const char* doing) const {
  const char* file = sqlite3_db_filename(database_.get(), "main");
  const std::string message =
      absl::StrCat("job store ", file == nullptr ? "" : file, ": ", doing, ": ",
                   sqlite3_errmsg(database_.get()));
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(message);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return absl::DataLossError(
          absl::StrCat(message, "; ", WayOutOf(file == nullptr ? "" : file)));
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(message);
    case SQLITE_BUSY:
      return absl::UnavailableError(message);
    case SQLITE_IOERR:
      // A quota or a limit of the file's size counts as a full disk.
      return sqlite3_extended_errcode(database_.get()) == SQLITE_IOERR_WRITE
                 ? absl::ResourceExhaustedError(message)
                 : absl::InternalError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status StoreDatabase::Execute(const char* sql) {
  const int code =
      sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : ErrorOf(code, "write");
}

absl::StatusOr<StoreStatement> StoreDatabase::Prepare(const std::string& sql) {
  auto& kept = prepared_[sql];
  if (kept == nullptr) {
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(database_.get(), sql.c_str(), -1,
                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return ErrorOf(code, "prepare a statement");
    kept.reset(statement);
  }
  return StoreStatement(kept.get());
}

bool StoreDatabase::InTransaction() const {
  return sqlite3_get_autocommit(database_.get()) == 0;
}

int StoreDatabase::NumChanged() const {
  return sqlite3_changes(database_.get());
}

absl::StatusOr<int64_t> StoreDatabase::ReadVersion() {
  FGNN_ASSIGN_OR_RETURN(StoreStatement statement,
                        Prepare("PRAGMA user_version"));
  const int code = statement.Step();
  if (code != SQLITE_ROW) return ErrorOf(code, "read its version");
  return statement.Integer(0);
}

absl::Status StoreDatabase::MakeTables(const StoreSchema& schema) {
  FGNN_RETURN_IF_ERROR(Execute("PRAGMA journal_mode = WAL"));
  // Every commit is synced, so that an acknowledged job survives a power cut.
  FGNN_RETURN_IF_ERROR(Execute("PRAGMA synchronous = FULL"));
  FGNN_ASSIGN_OR_RETURN(const int64_t version, ReadVersion());
  // A new file has version 0.
  if (version != 0 && version != schema.version) {
    return absl::DataLossError(absl::StrCat(
        "job store ", sqlite3_db_filename(database_.get(), "main"),
        " has schema version ", version, ", this program reads ",
        schema.version,
        "; run the release that wrote it, or another state folder"));
  }
  FGNN_RETURN_IF_ERROR(CheckIsSound());
  FGNN_RETURN_IF_ERROR(Execute("BEGIN"));
  FGNN_RETURN_IF_ERROR(Execute(schema.tables));
  FGNN_RETURN_IF_ERROR(
      Execute(absl::StrCat("PRAGMA user_version = ", schema.version).c_str()));
  return Execute("COMMIT");
}

// Otherwise a damaged page would be found only when a job needs it.
absl::Status StoreDatabase::CheckIsSound() {
  FGNN_ASSIGN_OR_RETURN(StoreStatement statement,
                        Prepare("PRAGMA quick_check(1)"));
  const int code = statement.Step();
  if (code != SQLITE_ROW) return ErrorOf(code, "check it");
  std::string found = statement.Text(0);
  std::replace(found.begin(), found.end(), '\n', ' ');
  if (found == "ok") return absl::OkStatus();
  const std::string file = sqlite3_db_filename(database_.get(), "main");
  return absl::DataLossError(absl::StrCat(
      "job store ", file, " is damaged: ", found, "; ", WayOutOf(file)));
}

absl::StatusOr<StoreDatabase> StoreDatabase::OpenFile(const char* path,
                                                      int flags) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  StoreDatabase database(handle);  // Closes the handle also on failure.
  if (code != SQLITE_OK) return database.ErrorOf(code, "open");
  sqlite3_busy_timeout(handle, 2'000);
  // Jobs are read rarely. SQLite's default cache of 2 MiB would look like a
  // leak with thousands of jobs.
  FGNN_RETURN_IF_ERROR(database.Execute("PRAGMA cache_size = -128"));
  return database;
}

absl::StatusOr<StoreDatabase> StoreDatabase::Open(
    const std::filesystem::path& path, const StoreSchema& schema) {
  CloseToOthers(path.string());
  FGNN_ASSIGN_OR_RETURN(
      StoreDatabase database,
      OpenFile(path.c_str(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  FGNN_RETURN_IF_ERROR(database.MakeTables(schema));
  return database;
}

absl::StatusOr<StoreDatabase> StoreDatabase::OpenReader() const {
  return OpenFile(sqlite3_db_filename(database_.get(), "main"),
                  SQLITE_OPEN_READONLY);
}

}  // namespace fgnn
