// What the scheduler has to know to go on with a job from a checkpoint. It lies
// in the checkpoint, so that it rolls back together with the weights.
#ifndef FGNN_SCHEDULER_FIGURES_RUN_STATE_H_
#define FGNN_SCHEDULER_FIGURES_RUN_STATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/figures/epoch_sum.h"

namespace fgnn {

struct RunState {
  uint64_t batches_per_epoch = 0;  // The seqs below count in these.
  uint64_t next_seq = 0;           // All before it are committed.
  // Fingerprint of the dataset's contents. 0: a checkpoint of a release that
  // had none.
  uint64_t dataset_content = 0;
  EpochSum sum;  // Of the open epoch's committed batches.
  // Of the last validated epoch; of link prediction, MRRs.
  std::optional<double> valid_accuracy;
  std::optional<double> best_valid_accuracy;
  std::optional<uint32_t> best_epoch;
  // Lengths of metrics.jsonl and batches.crc: what lies behind is of batches
  // that are trained again.
  uint64_t metrics_bytes = 0;
  uint64_t digests_bytes = 0;
};

std::string RunStateToJson(const RunState& state);
// DataLoss: it is not what RunStateToJson() made.
absl::StatusOr<RunState> RunStateFromJson(const std::string& text);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_RUN_STATE_H_
