// A run's folder: what is left of a job.
//
//   job.yaml                          the effective spec
//   metrics.jsonl                     a line per epoch
//   batches.crc                       a line per batch, if asked for
//   trace.json                        run_timeline.h, if asked for
//   checkpoints/epoch-0003.safetensors  after three epochs
//   checkpoints/epoch-0003-step-0000000120.safetensors  within the fourth,
//   after
//                                     120 steps of the job
//   checkpoints/best.safetensors      of the best validated epoch
//   summary.json                      how it ended
#ifndef FGNN_SCHEDULER_JOBS_RUN_FOLDER_H_
#define FGNN_SCHEDULER_JOBS_RUN_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/jobs/job_state.h"

namespace fgnn {

// OK if there is nothing at `path`, or an empty folder. AlreadyExists,
// InvalidArgument (not absolute, or a file is in the way).
absl::Status CheckRunFolderIsFree(const std::filesystem::path& path);

struct RunSummary {
  std::string job_id;
  JobState state = JobState::kFailed;
  uint32_t epochs = 0;  // That were finished.
  std::optional<std::string> stopped_early = std::nullopt;  // Why.
  double seconds = 0;
  // Of each phase before the first epoch, in their order.
  std::vector<std::pair<std::string, double>> preparation = {};
  uint64_t batches_committed = 0;
  uint64_t batches_expected = 0;
  // Of the best epoch.
  std::optional<double> valid_accuracy = std::nullopt;
  std::optional<double> valid_macro_f1 = std::nullopt;
  std::optional<double> test_accuracy = std::nullopt;
  std::optional<double> test_macro_f1 = std::nullopt;
  std::optional<double> test_roc_auc = std::nullopt;  // Of two classes, links.
  // Of link prediction, instead of accuracies and F1.
  bool predicts_links = false;
  std::optional<double> valid_mrr = std::nullopt;
  std::optional<double> test_mrr = std::nullopt;
  std::optional<double> test_mean_rank = std::nullopt;
  std::optional<uint32_t> best_epoch = std::nullopt;  // From 0.
  uint32_t switches = 0;
  uint32_t restarts = 0;
  uint64_t peak_bytes = 0;
  uint64_t seed = 0;
  std::string error = {};    // Empty: none.
  std::string warning = {};  // Of its dataset. Empty: none.
};

// Not thread-safe.
class RunFolder {
 public:
  // Makes the folder, as CheckRunFolderIsFree() allows, with job.yaml in it.
  static absl::StatusOr<RunFolder> Create(const std::filesystem::path& path,
                                          const std::string& job_yaml);

  // The folder of a run that goes on without a break: nothing is changed.
  static RunFolder Keep(const std::filesystem::path& path) {
    return RunFolder(path);
  }

  // The folder of an earlier run of the same job, with job.yaml in it or still
  // to be made. Its summary.json, if any, is removed: the run goes on.
  static absl::StatusOr<RunFolder> Reopen(const std::filesystem::path& path,
                                          const std::string& job_yaml);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path EpochCheckpoint(uint32_t epochs_done) const;
  std::filesystem::path StepCheckpoint(uint32_t epochs_done,
                                       uint64_t version) const;
  std::filesystem::path BestCheckpoint() const;

  // `lines` end with newlines. A reader never sees a part of one call's lines
  // without the rest, short of a full disk.
  absl::Status AppendMetrics(std::string_view lines) const;
  absl::Status AppendDigests(std::string_view lines) const;

  struct WrittenEpochs {
    // Of each epoch in metrics.jsonl; nullopt: it was not validated. Of link
    // prediction, MRRs.
    std::vector<std::optional<double>> valid_accuracies;
    std::vector<std::optional<double>> valid_macro_f1s;
    uint64_t bytes = 0;  // Of those lines.
  };
  // DataLoss: a line that AppendMetrics() did not write.
  absl::StatusOr<WrittenEpochs> ReadMetrics() const;

  struct Lengths {
    uint64_t metrics_bytes = 0;
    uint64_t digests_bytes = 0;
  };
  // On disk to these lengths once this returns.
  absl::StatusOr<Lengths> Sync() const;
  // Cuts off what was appended since Sync() said so. DataLoss: a file is
  // shorter than that.
  absl::Status TruncateTo(const Lengths& lengths) const;
  // Newest first; not the best one, which may be a copy of any.
  absl::StatusOr<std::vector<std::filesystem::path>> Checkpoints() const;
  // Makes a checkpoint of an epoch the best one; it costs no space.
  absl::Status MakeBest(const std::filesystem::path& checkpoint) const;
  // Removes all checkpoints but the newest `keep` and the best.
  absl::Status PruneCheckpoints(uint32_t keep) const;
  absl::Status WriteSummary(const RunSummary& summary) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Whole lines of metrics.jsonl of a run's folder, one an epoch, from this epoch
// (from 0) on, until they have `enough_bytes` or more. None: it has no such
// epoch, or no metrics yet.
absl::StatusOr<std::vector<std::string>> ReadMetricsLines(
    const std::filesystem::path& run_dir, uint32_t first_epoch,
    size_t enough_bytes);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_RUN_FOLDER_H_
