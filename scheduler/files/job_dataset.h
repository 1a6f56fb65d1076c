// The checks of a job's dataset by its files' headers.
#ifndef FGNN_SCHEDULER_FILES_JOB_DATASET_H_
#define FGNN_SCHEDULER_FILES_JOB_DATASET_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "scheduler/planning/job_plan.h"
#include "shared/base/threads/mutex.h"
#include "shared/config/job_spec.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

struct DatasetFacts {
  DatasetShape shape;
  bool has_valid = false;
  bool has_test = false;
  std::optional<HostRows> host_rows = std::nullopt;  // Dataset::host_rows().
};

// Reads the shapes of the job's dataset from its files' headers, and checks
// that a job can train on it. InvalidArgument: it lacks features, the labels or
// targets of the job's task, or training vertices, or, with link prediction,
// edges. Also the errors of Dataset::Open(). This is quick, so that submissions
// can call it. Samplers validate the values: this process maps no file of a
// dataset, since a file that shrinks would end the process.
absl::StatusOr<DatasetFacts> LookAtDataset(const JobSpec& spec);

// Returns a note for the user of a job that evaluates and whose dataset holds
// nothing out for that, so that the job ends without a score; nullopt: the job
// has a score, or asks for none. The note names what holds something out.
std::optional<std::string> NoteOnScores(const JobSpec& spec,
                                        const DatasetFacts& facts);

// Keeps the results of LookAtDataset() while a folder's files do not change. So
// clients that submit many jobs of a dataset do not wait for it to be opened
// each time. Errors are not kept. Thread-safe.
class KnownDatasets {
 public:
  absl::StatusOr<DatasetFacts> Look(const JobSpec& spec);

 private:
  struct Known {
    uint64_t fingerprint = 0;
    DatasetFacts facts;
  };
  Mutex mutex_;
  // Results by the folder and what is learned. The map is bounded.
  std::map<std::pair<std::string, Objective>, Known> known_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_JOB_DATASET_H_
