// The state that the scheduler needs to go on with a job from a checkpoint. The
// checkpoint holds it, so that it rolls back together with the weights.
#ifndef FGNN_SCHEDULER_FIGURES_RUN_STATE_H_
#define FGNN_SCHEDULER_FIGURES_RUN_STATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "scheduler/figures/epoch_sum.h"
#include "shared/base/types.h"
#include "shared/graph/book/seed_shares.h"

namespace fgnn {

struct RunState {
  uint64_t batches_per_epoch = 0;  // Batches of an epoch, by which seqs count.
  // First batch that is not committed; all before it are.
  BatchSeq next_seq;
  uint64_t dataset_content = 0;   // Fingerprint of the dataset's contents.
  uint64_t batch_dependency = 1;  // The job's sampling.batch_dependency.
  // Batches of a window of sampling.order matched; 0: batches come as drawn.
  uint64_t matched_window = 0;
  // Shares of training.seeds own; without a book: training.seeds is global.
  SeedShares seeds = {};
  // Number of parts of a batch, and the key of the book that splits it; 0: it
  // is whole.
  uint64_t parts = 1;
  uint64_t book = 0;
  EpochSum sum;  // Sum of the open epoch's committed batches.
  // Scores::compared() of the last validated epoch and of the best one.
  std::optional<double> valid_score;
  std::optional<double> best_valid_score;
  std::optional<uint32_t> best_epoch;
  // Bytes of metrics.jsonl and batches.crc that count. What follows in the
  // files is of batches that are trained again.
  uint64_t metrics_bytes = 0;
  uint64_t digests_bytes = 0;
};

std::string RunStateToJson(const RunState& state);
// DataLoss: the text is not from RunStateToJson().
absl::StatusOr<RunState> RunStateFromJson(const std::string& text);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_RUN_STATE_H_
