#include "scheduler/store/job_store.h"

#include <sqlite3.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "scheduler/store/job_schema.h"
#include "scheduler/store/progress_json.h"
#include "shared/base/status.h"
#include "shared/config/device_list.h"
#include "shared/config/job_spec.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Columns in the order of JobStore::Insert() and ReadRow().
constexpr char kColumns[] =
    "id, state, spec, run_dir, client_key, options, submitted_ms, started_ms, "
    "finished_ms, error_code, error_message, progress, resume, interruptions, "
    "dataset, user, name, after, attempts, preemptions, run_seconds, "
    "device_seconds, devices, folder, file_user";

// Returns the error in a row; OK: the job has none. An unknown code, of a
// damaged row, becomes kUnknown.
absl::Status ErrorOfRow(int64_t code, const std::string& message) {
  const bool is_known =
      code >= 0 &&
      code <= static_cast<int64_t>(absl::StatusCode::kUnauthenticated);
  return absl::Status(is_known ? static_cast<absl::StatusCode>(code)
                               : absl::StatusCode::kUnknown,
                      message);
}

// Returns the spec in a row; nullptr: it is damaged.
std::shared_ptr<const JobSpec> SpecOfRow(const std::string& id,
                                         const std::string& bytes) {
  absl::StatusOr<JobSpec> spec = SpecOfBytes(bytes);
  if (spec.ok()) return std::make_shared<const JobSpec>(*std::move(spec));
  LogWarning("job {}: {}", id, MessageOf(spec.status()));
  return nullptr;
}

// Returns the devices in a row; none, if they cannot be read.
std::vector<Device> DevicesOfRow(const std::string& id,
                                 const std::string& names) {
  absl::StatusOr<std::vector<Device>> devices =
      DevicesOfNames(absl::StrSplit(names, ' ', absl::SkipEmpty()));
  if (devices.ok()) return *std::move(devices);
  LogWarning("job store: job {}: it had devices that are none: {}", id,
             MessageOf(devices.status()));
  return {};
}

// Reads a job from a row. A damaged row becomes a failed job, so that it does
// not hide other jobs.
Job ReadRow(const StoreStatement& row) {
  Job job;
  job.id = row.Text(0);
  job.spec = SpecOfRow(job.id, row.Text(2));
  job.run_dir = row.Text(3);
  job.client_key = row.Text(4);
  absl::StatusOr<SubmissionOptions> options = OptionsOfBytes(row.Text(5));
  if (options.ok()) job.options = *std::move(options);
  job.submitted_ms = row.Integer(6);
  job.started_ms = row.Integer(7);
  job.finished_ms = row.Integer(8);
  job.error = ErrorOfRow(row.Integer(9), row.Text(10));
  job.progress = ProgressFromJson(row.Text(11));
  job.resume = row.Integer(12) != 0;
  job.interruptions = static_cast<uint32_t>(row.Integer(13));
  job.user = row.Text(15);
  job.after = absl::StrSplit(row.Text(17), ' ', absl::SkipEmpty());
  job.attempts = static_cast<uint32_t>(row.Integer(18));
  job.preemptions = static_cast<uint32_t>(row.Integer(19));
  job.run_seconds = row.Real(20);
  job.device_seconds = row.Real(21);
  job.devices = DevicesOfRow(job.id, row.Text(22));
  const int64_t folder = row.Integer(23);
  job.folder = folder == 1   ? FolderUse::kResume
               : folder == 2 ? FolderUse::kOwn
                             : FolderUse::kMake;
  job.file_user = row.Text(24);
  const auto state = ParseJobState(row.Integer(1));
  // How a job ended stands, whatever its options were.
  if (state.has_value() && (options.ok() || IsFinal(*state))) {
    job.state = *state;
    return job;
  }
  job.state = JobState::kFailed;
  job.error = absl::DataLossError(absl::StrCat(
      "job store: the row of job ", job.id, " is damaged: ",
      state.has_value()
          ? MessageOf(options.status())
          : absl::StrCat("it has the unknown state ", row.Integer(1))));
  return job;
}

// Condition of jobs that have not ended.
std::string IsUnfinished() {
  return absl::StrCat("(state < ", static_cast<int>(JobState::kCompleted),
                      " OR state = ", static_cast<int>(JobState::kPaused), ")");
}

// Text that is greater than any UTF-8 text.
constexpr char kBehindAllText[] = "\xff";

// Binds the columns from started_ms to interruptions.
void BindCourse(const Job& job, StoreStatement& statement) {
  statement.Bind(job.started_ms);
  statement.Bind(job.finished_ms);
  statement.Bind(static_cast<int64_t>(job.error.code()));
  statement.Bind(MessageOf(job.error));
  statement.Bind(ProgressToJson(job.progress));
  statement.Bind(int64_t{job.resume});
  statement.Bind(int64_t{job.interruptions});
}

}  // namespace

absl::StatusOr<JobStore> JobStore::Open(const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(StoreDatabase database,
                        StoreDatabase::Open(path, kJobSchema));
  return JobStore(std::move(database));
}

absl::StatusOr<JobStore> JobStore::OpenReader() const {
  FGNN_ASSIGN_OR_RETURN(StoreDatabase database, database_.OpenReader());
  return JobStore(std::move(database));
}

absl::StatusOr<uint64_t> JobStore::NextGeneration() {
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare("UPDATE service SET generation = generation + 1 "
                        "RETURNING generation"));
  const int code = statement.Step();
  if (code != SQLITE_ROW) return database_.ErrorOf(code, "count a start");
  const int64_t generation = statement.Integer(0);
  if (const int end = statement.Step(); end != SQLITE_DONE) {
    return database_.ErrorOf(end, "count a start");
  }
  return static_cast<uint64_t>(generation);
}

absl::Status JobStore::Checkpoint() {
  return database_.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

absl::Status JobStore::Begin() { return database_.Execute("BEGIN IMMEDIATE"); }
absl::Status JobStore::Commit() { return database_.Execute("COMMIT"); }

void JobStore::Rollback() {
  // Some errors end a transaction by themselves.
  if (InTransaction()) (void)database_.Execute("ROLLBACK");
}

bool JobStore::InTransaction() const { return database_.InTransaction(); }

absl::Status JobStore::Insert(const Job& job) {
  FGNN_ASSIGN_OR_RETURN(StoreStatement statement,
                        database_.Prepare(absl::StrCat(
                            "INSERT INTO jobs (", kColumns,
                            ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")));
  statement.Bind(job.id);
  statement.Bind(static_cast<int64_t>(job.state));
  statement.BindBlob(ToBytes(*job.spec));
  statement.Bind(job.run_dir);
  if (job.client_key.empty()) {
    statement.BindNull();
  } else {
    statement.Bind(job.client_key);
  }
  statement.BindBlob(ToBytes(job.options));
  statement.Bind(job.submitted_ms);
  BindCourse(job, statement);
  statement.Bind(job.spec->dataset);
  statement.Bind(job.user);
  statement.Bind(job.options.name);
  statement.Bind(absl::StrJoin(job.after, " "));
  statement.Bind(int64_t{job.attempts});
  statement.Bind(int64_t{job.preemptions});
  statement.Bind(job.run_seconds);
  statement.Bind(job.device_seconds);
  statement.Bind(absl::StrJoin(NamesOf(job.devices), " "));
  statement.Bind(static_cast<int64_t>(job.folder));
  statement.Bind(job.file_user);
  const int code = statement.Step();
  return code == SQLITE_DONE ? absl::OkStatus()
                             : database_.ErrorOf(code, "add a job");
}

absl::Status JobStore::Update(const Job& job) {
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare(
          "UPDATE jobs SET state = ?, started_ms = ?, finished_ms = ?, "
          "error_code = ?, error_message = ?, progress = ?, resume = ?, "
          "interruptions = ?, attempts = ?, preemptions = ?, run_seconds = ?, "
          "device_seconds = ?, devices = ?, folder = ? WHERE id = ?"));
  statement.Bind(static_cast<int64_t>(job.state));
  BindCourse(job, statement);
  statement.Bind(int64_t{job.attempts});
  statement.Bind(int64_t{job.preemptions});
  statement.Bind(job.run_seconds);
  statement.Bind(job.device_seconds);
  statement.Bind(absl::StrJoin(NamesOf(job.devices), " "));
  statement.Bind(static_cast<int64_t>(job.folder));
  statement.Bind(job.id);
  if (const int code = statement.Step(); code != SQLITE_DONE) {
    return database_.ErrorOf(code, "change a job");
  }
  if (database_.NumChanged() == 1) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("job store has no job ", job.id));
}

absl::Status JobStore::Delete(const std::string& id) {
  FGNN_ASSIGN_OR_RETURN(StoreStatement statement,
                        database_.Prepare("DELETE FROM jobs WHERE id = ?"));
  statement.Bind(id);
  if (const int code = statement.Step(); code != SQLITE_DONE) {
    return database_.ErrorOf(code, "delete a job");
  }
  if (database_.NumChanged() == 1) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("job store has no job ", id));
}

absl::StatusOr<std::vector<Job>> JobStore::ReadAll(StoreStatement& statement) {
  std::vector<Job> jobs;
  int code = statement.Step();
  for (; code == SQLITE_ROW; code = statement.Step()) {
    jobs.push_back(ReadRow(statement));
  }
  if (code != SQLITE_DONE) return database_.ErrorOf(code, "read jobs");
  return jobs;
}

absl::StatusOr<std::vector<Job>> JobStore::FindByPrefix(
    const std::string& prefix, uint32_t limit) {
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare(absl::StrCat("SELECT ", kColumns,
                                     " FROM jobs WHERE id >= ? AND id < ? "
                                     "ORDER BY number LIMIT ?")));
  statement.Bind(prefix);
  statement.Bind(prefix + kBehindAllText);
  statement.Bind(int64_t{limit});
  return ReadAll(statement);
}

absl::StatusOr<std::optional<Job>> JobStore::FindByClientKey(
    const std::string& key) {
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare(absl::StrCat("SELECT ", kColumns,
                                     " FROM jobs WHERE client_key = "
                                     "?")));
  statement.Bind(key);
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs, ReadAll(statement));
  if (jobs.empty()) return std::nullopt;
  return std::optional<Job>(std::move(jobs.front()));
}

absl::StatusOr<std::optional<Job>> JobStore::FindByFolder(
    const std::string& run_dir) {
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare(absl::StrCat(
          "SELECT ", kColumns, " FROM jobs WHERE run_dir = ? AND folder = ",
          static_cast<int>(FolderUse::kOwn), " ORDER BY number DESC LIMIT 1")));
  statement.Bind(run_dir);
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs, ReadAll(statement));
  if (jobs.empty()) return std::nullopt;
  return std::optional<Job>(std::move(jobs.front()));
}

absl::StatusOr<std::vector<Job>> JobStore::Find(const JobFilter& filter,
                                                uint32_t limit) {
  std::string where = " WHERE 1";
  // The states are one bit set, so that there are few different statements.
  int64_t states = 0;
  for (const JobState state : filter.states) {
    states |= int64_t{1} << static_cast<int>(state);
  }
  if (states != 0) where += " AND (? >> state) & 1";
  if (!filter.user.empty()) where += " AND user = ?";
  if (!filter.search.empty()) {
    where +=
        " AND instr(lower(id || '\n' || name || '\n' || dataset || '\n' || "
        "run_dir || '\n' || error_message), lower(?))";
  }
  if (!filter.before_id.empty()) {
    where += " AND number < (SELECT number FROM jobs WHERE id = ?)";
  }
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare(absl::StrCat("SELECT ", kColumns, " FROM jobs", where,
                                     " ORDER BY number DESC LIMIT ?")));
  if (states != 0) statement.Bind(states);
  if (!filter.user.empty()) statement.Bind(filter.user);
  if (!filter.search.empty()) statement.Bind(filter.search);
  if (!filter.before_id.empty()) statement.Bind(filter.before_id);
  statement.Bind(int64_t{limit});
  return ReadAll(statement);
}

absl::StatusOr<std::vector<Job>> JobStore::Unfinished() {
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare(absl::StrCat("SELECT ", kColumns, " FROM jobs WHERE ",
                                     IsUnfinished(), " ORDER BY number")));
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> jobs, ReadAll(statement));
  std::erase_if(jobs, [](const Job& job) {
    if (!IsFinal(job.state)) return false;
    const LogJob about(job.id);
    LogWarning("job {} is left out: {}", job.id, MessageOf(job.error));
    return true;
  });
  return jobs;
}

absl::StatusOr<std::optional<std::string>> JobStore::FindDependent(
    const Job& job) {
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare(absl::StrCat(
          "SELECT id FROM jobs WHERE ", IsUnfinished(),
          " AND id <> ? AND (run_dir = ? OR "
          "instr(' ' || after || ' ', ' ' || ? || ' ') > 0) LIMIT 1")));
  statement.Bind(job.id);
  statement.Bind(job.run_dir);
  statement.Bind(job.id);
  const int code = statement.Step();
  if (code == SQLITE_DONE) return std::nullopt;
  if (code != SQLITE_ROW) return database_.ErrorOf(code, "read jobs");
  return std::optional<std::string>(statement.Text(0));
}

absl::StatusOr<std::vector<JobUse>> JobStore::UseSince(int64_t since_ms) {
  FGNN_ASSIGN_OR_RETURN(
      StoreStatement statement,
      database_.Prepare("SELECT user, device_seconds, finished_ms FROM jobs "
                        "WHERE device_seconds > 0 AND (finished_ms = 0 OR "
                        "finished_ms >= ?) UNION ALL "
                        "SELECT user, device_seconds, finished_ms FROM "
                        "deleted_use WHERE finished_ms >= ?"));
  statement.Bind(since_ms);
  statement.Bind(since_ms);
  std::vector<JobUse> uses;
  int code = statement.Step();
  for (; code == SQLITE_ROW; code = statement.Step()) {
    uses.push_back(
        {statement.Text(0), statement.Real(1), statement.Integer(2)});
  }
  if (code != SQLITE_DONE)
    return database_.ErrorOf(code, "read what users have had");
  return uses;
}

}  // namespace fgnn
