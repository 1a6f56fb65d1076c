// What jobs need of a dataset beside sound values, by the functions of those
// who would refuse the job.
#ifndef FGNN_TOOLS_FGNN_DATASET_JOB_CHECKS_H_
#define FGNN_TOOLS_FGNN_DATASET_JOB_CHECKS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace fgnn {

// Whether jobs of a training.task can train on a dataset.
struct TaskCheck {
  std::string task;
  absl::Status status;  // The scheduler's error.
};

// Checks the dataset for each task, as the scheduler does when a job is
// submitted.
std::vector<TaskCheck> CheckTasks(const std::filesystem::path& dataset);

// Makes the checks of the scheduler, the samplers and the trainers for the job
// of a file, on this dataset instead of the file's own. Errors: theirs, and
// those of reading the file. Plugins are not loaded.
absl::Status CheckJob(const std::filesystem::path& job_file,
                      const std::filesystem::path& dataset);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_DATASET_JOB_CHECKS_H_
