// The tables of the job store, for job_store.cc.
#ifndef FGNN_SCHEDULER_STORE_JOB_SCHEMA_H_
#define FGNN_SCHEDULER_STORE_JOB_SCHEMA_H_

#include "scheduler/store/store_database.h"

namespace fgnn {

inline constexpr char kJobTables[] = R"sql(
CREATE TABLE IF NOT EXISTS jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  spec BLOB NOT NULL,
  run_dir TEXT NOT NULL,
  client_key TEXT UNIQUE,
  options BLOB NOT NULL,
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
  after TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  preemptions INTEGER NOT NULL,
  run_seconds REAL NOT NULL,
  device_seconds REAL NOT NULL,
  devices TEXT NOT NULL,
  folder INTEGER NOT NULL,
  file_user TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
CREATE INDEX IF NOT EXISTS jobs_by_run_dir ON jobs (run_dir);
-- Device seconds of deleted jobs: who deletes jobs keeps what they took. After a
-- month they count for nothing (DeviceAccount).
CREATE TABLE IF NOT EXISTS deleted_use (
  user TEXT NOT NULL,
  device_seconds REAL NOT NULL,
  finished_ms INTEGER NOT NULL
);
CREATE TRIGGER IF NOT EXISTS keep_deleted_use AFTER DELETE ON jobs
WHEN OLD.device_seconds > 0 BEGIN
  DELETE FROM deleted_use
    WHERE finished_ms < (strftime('%s', 'now') - 30 * 24 * 3600) * 1000;
  INSERT INTO deleted_use
    VALUES (OLD.user, OLD.device_seconds, OLD.finished_ms);
END;
CREATE TABLE IF NOT EXISTS service (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  generation INTEGER NOT NULL
);
INSERT OR IGNORE INTO service VALUES (1, 0);
)sql";

// The version rises with each change of the tables.
inline constexpr StoreSchema kJobSchema = {.version = 7, .tables = kJobTables};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_SCHEMA_H_
