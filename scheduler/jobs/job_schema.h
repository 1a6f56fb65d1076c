// The tables of the job store, and the ways to them from those of earlier
// releases. For job_store.cc.
#ifndef FGNN_SCHEDULER_JOBS_JOB_SCHEMA_H_
#define FGNN_SCHEDULER_JOBS_JOB_SCHEMA_H_

namespace fgnn {

inline constexpr int kSchemaVersion = 5;

inline constexpr char kSchema[] = R"sql(
CREATE TABLE IF NOT EXISTS jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  spec BLOB NOT NULL,
  run_dir TEXT NOT NULL,
  client_key TEXT UNIQUE,
  digest INTEGER NOT NULL,
  trace INTEGER NOT NULL,
  submitted_ms INTEGER NOT NULL,
  started_ms INTEGER NOT NULL,
  finished_ms INTEGER NOT NULL,
  error_code INTEGER NOT NULL,
  error_message TEXT NOT NULL,
  progress TEXT NOT NULL,
  resume INTEGER NOT NULL,
  interruptions INTEGER NOT NULL,
  dataset TEXT NOT NULL,
  user TEXT NOT NULL,
  name TEXT NOT NULL,
  priority INTEGER NOT NULL,
  after TEXT NOT NULL,
  retries INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  time_limit_seconds INTEGER NOT NULL,
  preemptions INTEGER NOT NULL,
  run_seconds REAL NOT NULL,
  device_seconds REAL NOT NULL,
  devices TEXT NOT NULL,
  folder INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
CREATE INDEX IF NOT EXISTS jobs_by_run_dir ON jobs (run_dir);
CREATE TABLE IF NOT EXISTS service (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  generation INTEGER NOT NULL
);
INSERT OR IGNORE INTO service VALUES (1, 0);
)sql";

inline constexpr char kSchema1To2[] = R"sql(
ALTER TABLE jobs ADD COLUMN resume INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN interruptions INTEGER NOT NULL DEFAULT 0;
)sql";

// Their datasets are in specs that this folder cannot read.
inline constexpr char kSchema2To3[] = R"sql(
ALTER TABLE jobs ADD COLUMN trace INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN dataset TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN after TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN time_limit_seconds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN preemptions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN run_seconds REAL NOT NULL DEFAULT 0;
UPDATE jobs SET run_seconds = max(0, finished_ms - started_ms) / 1000.0
  WHERE started_ms > 0 AND finished_ms > 0;
)sql";

// Of that release a job had all devices of the service: counted as one.
inline constexpr char kSchema3To4[] = R"sql(
ALTER TABLE jobs ADD COLUMN device_seconds REAL NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN devices TEXT NOT NULL DEFAULT '';
UPDATE jobs SET device_seconds = run_seconds;
)sql";

// A job has batches, or runs, only behind making its folder (FolderUse::kOwn).
// Where it has none yet, it was to go on in one if its first start was to. A
// job that was started may have made the folder that the service named.
inline constexpr char kSchema4To5[] = R"sql(
ALTER TABLE jobs ADD COLUMN folder INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET folder = 1 WHERE resume AND started_ms = 0;
UPDATE jobs SET folder = 2 WHERE state IN (3, 5) OR (json_valid(progress) AND
  coalesce(json_extract(progress, '$.batches_committed'), 0) > 0) OR
  (started_ms > 0 AND run_dir LIKE '%/runs/' || id);
)sql";

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_SCHEMA_H_
