// A job as the scheduler knows it.
#ifndef FGNN_SCHEDULER_STORE_JOB_H_
#define FGNN_SCHEDULER_STORE_JOB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_view.h"
#include "scheduler/store/job_state.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// How far a job is. Scores and times that are not known are negative.
struct JobProgress {
  std::string phase;    // "validating data", "epoch 3", "testing", …
  std::string warning;  // Of its dataset; empty: none.
  uint32_t epochs = 0;
  uint32_t epochs_done = 0;
  uint64_t batches_per_epoch = 0;
  uint64_t batches_committed = 0;  // Over all epochs.
  uint64_t batches_expected = 0;   // Over all epochs.
  double loss = 0;                 // Mean of the open epoch so far.
  double edges_per_second = 0;     // Over the last second or so.
  double seconds_left = -1;
  double valid_accuracy = -1;  // Of the last validated epoch.
  double test_accuracy = -1;
  double test_macro_f1 = -1;
  double test_roc_auc = -1;
  // Of link prediction; 0: not known.
  double valid_mrr = 0;
  double test_mrr = 0;
  double test_mean_rank = 0;
  uint32_t restarts = 0;
  // Deaths of the service, one after the other, while this job was prepared.
  uint32_t deaths_in_preparing = 0;
  // Fingerprint of the dataset's contents that the job began with; 0: not
  // known yet.
  uint64_t dataset_content = 0;
  std::vector<ExecutorView> executors;
  std::vector<DeviceView> devices;  // Where they take turns.
};

// What a job does where its run folder is to be opened. The numbers are those
// of the job store.
enum class FolderUse : uint8_t {
  kMake = 0,    // Makes it: there must be none, or an empty one.
  kResume = 1,  // Goes on in one of an earlier job, as its client asked.
  kOwn = 2,     // Goes on in the one that it made, or went on in before.
};

struct Job {
  std::string id;
  JobState state = JobState::kQueued;
  // A serialised fgnn.v1.JobSpec, effective. Only rpc/ can read it.
  std::string spec_bytes;
  std::string run_dir;  // Absolute.
  FolderUse folder = FolderUse::kMake;
  std::string client_key;
  bool digest = false;
  bool trace = false;
  std::string dataset;  // As the spec has it; for people who search.
  // Whose it is, as the client said; empty: nobody's.
  std::string user;
  std::string name;                 // For people.
  int32_t priority = 0;             // Higher ones go first.
  std::vector<std::string> after;   // Ids of jobs that have to complete before.
  uint32_t retries = 0;             // Starts again after so many failures.
  uint32_t attempts = 0;            // Starts that failed so far.
  uint32_t time_limit_seconds = 0;  // Of run_seconds; 0: none.
  uint32_t preemptions = 0;         // Times that it gave way to another job.
  double run_seconds = 0;           // That it has had devices, all starts.
  double device_seconds = 0;        // Of each device, added up.
  // That it has, or had at its end; none while it waits.
  std::vector<std::string> devices;
  std::string waiting_for;  // Why it does not run. Not on disk.
  // Goes on from the newest sound checkpoint of run_dir, if there is one.
  bool resume = false;
  // How often the service ended while it ran, since its last whole epoch.
  uint32_t interruptions = 0;
  // Unix milliseconds; 0: not yet.
  int64_t submitted_ms = 0;
  int64_t started_ms = 0;
  int64_t finished_ms = 0;
  absl::Status error;  // Of a failed or cancelled job: why.
  JobProgress progress;
};

// What spec_bytes say.
struct DecodedSpec {
  JobSpec spec;
  std::string yaml;  // As job.yaml has it.
};
// Given to run/ by rpc/: what a job's spec_bytes say; where the job has been
// given devices, spec.devices are these, and yaml is what it asked for.
// DataLoss for bytes that are no spec.
using SpecDecoder = std::function<absl::StatusOr<DecodedSpec>(const Job& job)>;

// Wall-clock time, for people: jobs' times and ids alone.
int64_t UnixMilliseconds();

// "20261121-101500-7f3a": when it was submitted (UTC) and four hexadecimal
// digits of `salt`.
std::string MakeJobId(int64_t submitted_ms, uint64_t salt);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_H_
