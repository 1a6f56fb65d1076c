// What a job asks of its dataset.
#ifndef FGNN_SCHEDULER_FILES_JOB_DATASET_H_
#define FGNN_SCHEDULER_FILES_JOB_DATASET_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "scheduler/planning/job_plan.h"
#include "shared/config/job_spec.h"

namespace fgnn {

struct DatasetFacts {
  DatasetShape shape;
  bool has_valid = false;
  bool has_test = false;
};

// Reads the shapes of the job's dataset from its files' headers and checks that
// it can be trained on: InvalidArgument if it lacks features, or labels or
// train vertices, or, of link prediction, edges; else the errors of
// Dataset::Open(). Quick: for a job that is submitted. Values are validated by
// samplers: this process maps no file of a dataset, since one that shrinks
// would end it.
absl::StatusOr<DatasetFacts> LookAtDataset(const JobSpec& spec);

// What LookAtDataset() found, for as long as a folder's files stay what they
// are: those who submit many jobs of a dataset do not wait for it to be opened
// each time. Errors are not kept. Thread-safe.
class KnownDatasets {
 public:
  absl::StatusOr<DatasetFacts> Look(const JobSpec& spec);

 private:
  struct Known {
    uint64_t fingerprint = 0;
    DatasetFacts facts;
  };
  std::mutex mutex_;
  // By the folder, and whether links are predicted; bounded. Guarded by mutex_.
  std::map<std::pair<std::string, bool>, Known> known_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_JOB_DATASET_H_
