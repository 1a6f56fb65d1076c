#include "scheduler/jobs/job_store.h"

#include <sqlite3.h>

#include <string_view>

#include "absl/strings/str_cat.h"
#include "scheduler/jobs/progress_json.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr int kSchemaVersion = 2;

constexpr char kSchema[] = R"sql(
CREATE TABLE IF NOT EXISTS jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  spec BLOB NOT NULL,
  run_dir TEXT NOT NULL,
  client_key TEXT UNIQUE,
  digest INTEGER NOT NULL,
  submitted_ms INTEGER NOT NULL,
  started_ms INTEGER NOT NULL,
  finished_ms INTEGER NOT NULL,
  error_code INTEGER NOT NULL,
  error_message TEXT NOT NULL,
  progress TEXT NOT NULL,
  resume INTEGER NOT NULL,
  interruptions INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
CREATE TABLE IF NOT EXISTS service (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  generation INTEGER NOT NULL
);
INSERT OR IGNORE INTO service VALUES (1, 0);
)sql";

constexpr char kSchema1To2[] = R"sql(
ALTER TABLE jobs ADD COLUMN resume INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN interruptions INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr char kColumns[] =
    "id, state, spec, run_dir, client_key, digest, submitted_ms, started_ms, "
    "finished_ms, error_code, error_message, progress, resume, interruptions";

}  // namespace

// A prepared statement; columns and parameters are counted from 0.
class JobStore::Statement {
 public:
  static absl::StatusOr<Statement> Prepare(JobStore& store,
                                           const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(store.database_.get(), sql.c_str(), -1,
                                        &statement, nullptr);
    if (code != SQLITE_OK) return store.ErrorOf(code, "prepare a statement");
    return Statement(statement);
  }

  void Bind(int64_t value) {
    sqlite3_bind_int64(statement_.get(), ++bound_, value);
  }
  void Bind(const std::string& text) {
    sqlite3_bind_text(statement_.get(), ++bound_, text.data(),
                      static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void BindBlob(const std::string& bytes) {
    sqlite3_bind_blob(statement_.get(), ++bound_, bytes.data(),
                      static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  }
  void BindNull() { sqlite3_bind_null(statement_.get(), ++bound_); }

  int Step() { return sqlite3_step(statement_.get()); }

  int64_t Integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
  }
  std::string Text(int column) const {
    const void* bytes = sqlite3_column_blob(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    if (bytes == nullptr) return "";
    return std::string(static_cast<const char*>(bytes),
                       static_cast<size_t>(size));
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const {
      sqlite3_finalize(statement);
    }
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

void JobStore::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

absl::Status JobStore::ErrorOf(int code, const char* doing) const {
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
          absl::StrCat(message, "; move the file away to start without jobs"));
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(message);
    case SQLITE_BUSY:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status JobStore::Execute(const char* sql) {
  const int code =
      sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : ErrorOf(code, "set up");
}

absl::Status JobStore::CreateTables() {
  FGNN_RETURN_IF_ERROR(Execute("PRAGMA journal_mode = WAL"));
  // Jobs are read rarely; the 2 MiB that SQLite would keep of them look like a
  // leak for thousands of jobs.
  FGNN_RETURN_IF_ERROR(Execute("PRAGMA cache_size = -128"));
  // An acknowledged job survives a power cut: every commit is synced.
  FGNN_RETURN_IF_ERROR(Execute("PRAGMA synchronous = FULL"));
  int64_t version = 0;
  {
    FGNN_ASSIGN_OR_RETURN(Statement statement,
                          Statement::Prepare(*this, "PRAGMA user_version"));
    const int code = statement.Step();
    if (code != SQLITE_ROW) return ErrorOf(code, "read its version");
    version = statement.Integer(0);
  }
  if (version > kSchemaVersion) {
    return absl::DataLossError(absl::StrCat(
        "job store has schema version ", version, ", this program knows ",
        kSchemaVersion, "; run a newer release or another state folder"));
  }
  FGNN_RETURN_IF_ERROR(Execute("BEGIN"));
  if (version == 1) FGNN_RETURN_IF_ERROR(Execute(kSchema1To2));
  FGNN_RETURN_IF_ERROR(Execute(kSchema));
  FGNN_RETURN_IF_ERROR(
      Execute(absl::StrCat("PRAGMA user_version = ", kSchemaVersion).c_str()));
  return Execute("COMMIT");
}

absl::StatusOr<JobStore> JobStore::Open(const std::filesystem::path& path) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &database,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      nullptr);
  JobStore store(database);  // Also where it failed: it is to be closed.
  if (code != SQLITE_OK) return store.ErrorOf(code, "open");
  sqlite3_busy_timeout(database, 2'000);
  FGNN_RETURN_IF_ERROR(store.CreateTables());
  return store;
}

absl::StatusOr<uint64_t> JobStore::NextGeneration() {
  FGNN_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(*this,
                         "UPDATE service SET generation = generation + 1 "
                         "RETURNING generation"));
  const int code = statement.Step();
  if (code != SQLITE_ROW) return ErrorOf(code, "count a start");
  const int64_t generation = statement.Integer(0);
  if (const int end = statement.Step(); end != SQLITE_DONE) {
    return ErrorOf(end, "count a start");
  }
  return static_cast<uint64_t>(generation);
}

absl::Status JobStore::Insert(const Job& job) {
  FGNN_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(*this, absl::StrCat("INSERT INTO jobs (", kColumns,
                                             ") VALUES (?, ?, ?, ?, ?, ?, ?, "
                                             "?, ?, ?, ?, ?, ?, ?)")));
  statement.Bind(job.id);
  statement.Bind(static_cast<int64_t>(job.state));
  statement.BindBlob(job.spec_bytes);
  statement.Bind(job.run_dir);
  if (job.client_key.empty()) {
    statement.BindNull();
  } else {
    statement.Bind(job.client_key);
  }
  statement.Bind(int64_t{job.digest});
  statement.Bind(job.submitted_ms);
  statement.Bind(job.started_ms);
  statement.Bind(job.finished_ms);
  statement.Bind(static_cast<int64_t>(job.error.code()));
  statement.Bind(MessageOf(job.error));
  statement.Bind(ProgressToJson(job.progress));
  statement.Bind(int64_t{job.resume});
  statement.Bind(int64_t{job.interruptions});
  const int code = statement.Step();
  return code == SQLITE_DONE ? absl::OkStatus() : ErrorOf(code, "add a job");
}

absl::Status JobStore::Update(const Job& job) {
  FGNN_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(
          *this,
          "UPDATE jobs SET state = ?, started_ms = ?, finished_ms = ?, "
          "error_code = ?, error_message = ?, progress = ?, resume = ?, "
          "interruptions = ? WHERE id = ?"));
  statement.Bind(static_cast<int64_t>(job.state));
  statement.Bind(job.started_ms);
  statement.Bind(job.finished_ms);
  statement.Bind(static_cast<int64_t>(job.error.code()));
  statement.Bind(MessageOf(job.error));
  statement.Bind(ProgressToJson(job.progress));
  statement.Bind(int64_t{job.resume});
  statement.Bind(int64_t{job.interruptions});
  statement.Bind(job.id);
  if (const int code = statement.Step(); code != SQLITE_DONE) {
    return ErrorOf(code, "change a job");
  }
  if (sqlite3_changes(database_.get()) == 1) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("job store has no job ", job.id));
}

absl::StatusOr<std::vector<Job>> JobStore::ReadAll(Statement& statement) {
  std::vector<Job> jobs;
  int code = statement.Step();
  for (; code == SQLITE_ROW; code = statement.Step()) {
    Job job;
    job.id = statement.Text(0);
    const auto state = ParseJobState(statement.Integer(1));
    if (!state.has_value()) {
      return absl::DataLossError(absl::StrCat("job store: job ", job.id,
                                              " has the unknown state ",
                                              statement.Integer(1)));
    }
    job.state = *state;
    job.spec_bytes = statement.Text(2);
    job.run_dir = statement.Text(3);
    job.client_key = statement.Text(4);
    job.digest = statement.Integer(5) != 0;
    job.submitted_ms = statement.Integer(6);
    job.started_ms = statement.Integer(7);
    job.finished_ms = statement.Integer(8);
    job.error =
        absl::Status(static_cast<absl::StatusCode>(statement.Integer(9)),
                     statement.Text(10));
    job.progress = ProgressFromJson(statement.Text(11));
    job.resume = statement.Integer(12) != 0;
    job.interruptions = static_cast<uint32_t>(statement.Integer(13));
    jobs.push_back(std::move(job));
  }
  if (code != SQLITE_DONE) return ErrorOf(code, "read jobs");
  return jobs;
}

absl::StatusOr<std::vector<Job>> JobStore::FindByPrefix(
    const std::string& prefix, uint32_t limit) {
  FGNN_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(
          *this, absl::StrCat("SELECT ", kColumns,
                              " FROM jobs WHERE substr(id, 1, length(?)) = ? "
                              "ORDER BY number LIMIT ?")));
  statement.Bind(prefix);
  statement.Bind(prefix);
  statement.Bind(int64_t{limit});
  return ReadAll(statement);
}

absl::StatusOr<std::optional<Job>> JobStore::FindByClientKey(
    const std::string& key) {
  FGNN_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(*this, absl::StrCat("SELECT ", kColumns,
                                             " FROM jobs WHERE client_key = "
                                             "?")));
  statement.Bind(key);
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs, ReadAll(statement));
  if (jobs.empty()) return std::nullopt;
  return std::optional<Job>(std::move(jobs.front()));
}

absl::StatusOr<std::vector<Job>> JobStore::Newest(uint32_t limit) {
  FGNN_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(*this,
                         absl::StrCat("SELECT ", kColumns,
                                      " FROM jobs ORDER BY number DESC LIMIT "
                                      "?")));
  statement.Bind(int64_t{limit});
  return ReadAll(statement);
}

absl::StatusOr<std::vector<Job>> JobStore::Unfinished() {
  FGNN_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(
          *this, absl::StrCat("SELECT ", kColumns, " FROM jobs WHERE state < ",
                              static_cast<int>(JobState::kCompleted),
                              " ORDER BY number")));
  return ReadAll(statement);
}

}  // namespace fgnn
