// A job as the scheduler knows it.
#ifndef FGNN_SCHEDULER_STORE_JOB_H_
#define FGNN_SCHEDULER_STORE_JOB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/executors/executor_view.h"
#include "scheduler/store/job_state.h"
#include "shared/config/job_hosts.h"
#include "shared/config/job_spec.h"
#include "shared/config/submission_options.h"
#include "shared/device/device.h"
#include "shared/measured/scores.h"

namespace fgnn {

// Progress of a job.
struct JobProgress {
  // Phase, such as "validating data", "epoch 3" or "testing".
  std::string phase;
  std::string warning;  // Warning about the dataset; empty: none.
  // Why checkpoints cannot be written, that they can again, or how the run goes
  // on otherwise than its checkpoint.
  std::string checkpoint_warning;
  uint32_t epochs = 0;
  uint32_t epochs_done = 0;
  uint64_t batches_per_epoch = 0;
  uint64_t batches_committed = 0;  // Batches committed in all epochs.
  uint64_t batches_expected = 0;   // Batches of all epochs.
  double loss = 0;                 // Mean loss of the open epoch so far.
  double edges_per_second = 0;     // Rate over about the last second.
  double seconds_left = -1;        // Estimate; negative: not known.
  // Share of the evaluation under way that is done; nullopt: not known, or
  // there is none; not on disk.
  std::optional<double> evaluated;
  // Score by which epochs are compared, of the last validated one.
  Scores valid = {};
  Scores test = {};
  uint32_t restarts = 0;
  // Deaths of the service in a row while this job was prepared.
  uint32_t deaths_in_preparing = 0;
  // Fingerprint of the dataset's contents that the job began with; 0: not
  // known yet.
  uint64_t dataset_content = 0;
  // Shares by speed of the hosts that the job has, or had last; empty: none
  // were found.
  std::vector<HostShare> shares;
  std::vector<ExecutorView> executors;
  std::vector<DeviceView> devices;  // Devices, if they take turns.
};

// How a job opens its run folder. The job store has these numbers.
enum class FolderUse : uint8_t {
  kMake = 0,    // Makes the folder; there must be none, or an empty one.
  kResume = 1,  // Goes on in the folder of an earlier job, as its client asked.
  kOwn = 2,     // Goes on in the folder that is its own since an earlier start.
};

struct Job {
  std::string id;
  JobState state = JobState::kQueued;
  // Effective spec, but without devices if the client asked for none; nullptr:
  // the store's cannot be read.
  std::shared_ptr<const JobSpec> spec;
  std::string run_dir;  // Absolute path of the run folder.
  FolderUse folder = FolderUse::kMake;
  std::string client_key;
  SubmissionOptions options;
  // Name of the job's user; empty: nobody.
  std::string user;
  // The user by whose rights the run folder is opened, as ParseFileUser() reads
  // it. Empty: the service's own user.
  std::string file_user;
  std::vector<std::string> after;  // Ids of jobs that have to complete first.
  uint32_t attempts = 0;           // Number of failed starts so far.
  uint32_t preemptions = 0;   // Number of times that another job preempted it.
  double run_seconds = 0;     // Seconds with devices, over all starts.
  double device_seconds = 0;  // Seconds with devices, summed over them.
  // Devices that it has, or had at its end; none while it waits.
  std::vector<Device> devices;
  std::string waiting_for;  // Reason why it does not run; not on disk.
  // Whether it goes on from the newest sound checkpoint of run_dir, if there is
  // one.
  bool resume = false;
  // Number of times that the service ended while it ran, since its last whole
  // epoch.
  uint32_t interruptions = 0;
  // Unix times in milliseconds; 0: not yet.
  int64_t submitted_ms = 0;
  int64_t started_ms = 0;
  int64_t finished_ms = 0;
  absl::Status error;  // Reason why it failed or was cancelled.
  JobProgress progress;
};

// Returns the wall-clock time as Unix milliseconds. It is used for jobs' times
// and ids only.
int64_t UnixMilliseconds();

// Returns an id like "20261121-101500-7f3a": the time of submission (UTC) and
// four hexadecimal digits of `salt`.
std::string MakeJobId(int64_t submitted_ms, uint64_t salt);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_H_
