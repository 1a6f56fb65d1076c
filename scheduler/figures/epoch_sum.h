// An epoch's batch records added up, in batch order.
#ifndef FGNN_SCHEDULER_FIGURES_EPOCH_SUM_H_
#define FGNN_SCHEDULER_FIGURES_EPOCH_SUM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

// Seconds over all executors.
struct StageSeconds {
  double sample = 0, id_map = 0, mark = 0, copy = 0;
  double wait = 0, extract = 0, train = 0, sync = 0;
};

class EpochSum {
 public:
  void Add(const BatchRecord& record);

  uint64_t batches() const { return batches_; }
  uint64_t edges() const { return edges_; }
  uint64_t input_nodes() const { return input_nodes_; }
  // Mean over the seeds, or pairs, so far; 0 without any.
  double loss() const;
  // Share of input nodes found in a cache; 0 without any.
  double cache_hit_rate() const;
  // Versions that a batch's weights were older than those it changed: the most
  // of all batches, and their mean; 0 without any.
  uint32_t staleness_max() const { return staleness_max_; }
  double staleness_mean() const;
  const StageSeconds& stages() const { return stages_; }

  // What a checkpoint within an epoch keeps, and the same back, to the bit.
  // DataLoss: not what ToJson() made.
  std::string ToJson() const;
  static absl::StatusOr<EpochSum> FromJson(const std::string& text);

 private:
  uint64_t batches_ = 0;
  uint64_t seeds_ = 0;
  uint64_t edges_ = 0;
  uint64_t input_nodes_ = 0;
  uint64_t cache_hits_ = 0;
  uint64_t staleness_ = 0;
  uint32_t staleness_max_ = 0;
  double loss_sum_ = 0;
  StageSeconds stages_;
};

// A device of a job where they take turns, in one epoch. Times of a batch, as
// the device makes them; deviations are those of the stages that a thread works
// at. 0: not known.
struct DeviceFacts {
  std::string device;
  std::string plan;      // "sampler", …, when it began; "lost" in the end.
  double sample_ms = 0;  // Ts
  double sample_deviation_ms = 0;
  double train_ms = 0;  // Tt
  double train_deviation_ms = 0;
  double standby_ms = 0;  // Tt'
  double wake_ms = 0;     // The longest from a decision to train to a batch.
  uint64_t sampled = 0;   // Batches.
  uint64_t trained = 0;
  double cache_hit_rate = 0;  // Of the batches that it trained.
};

// Scores of an epoch on the validation split; nullopt: not known.
struct ValidScores {
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> macro_f1 = std::nullopt;
  std::optional<double> roc_auc = std::nullopt;  // With two classes, or links.
  // With link prediction alone.
  std::optional<double> mrr = std::nullopt;
  std::optional<double> mean_rank = std::nullopt;
};

// What else a line of metrics.jsonl says.
struct EpochFacts {
  uint32_t epoch = 0;  // From 0.
  // From the opening of the epoch to its last commit: neither evaluation nor
  // checkpoint. The next epoch is sampled ahead meanwhile.
  double seconds = 0;
  bool predicts_links = false;  // Then it has MRR, mean rank and ROC-AUC.
  ValidScores valid = {};
  double evaluate_seconds = 0;
  // Executors; where devices take turns, those that are planned as such.
  uint32_t samplers = 0;
  uint32_t trainers = 0;
  uint32_t switches = 0;                  // Times that a standby trainer woke.
  std::vector<DeviceFacts> devices = {};  // Where they take turns.

  // What is higher in a better epoch.
  std::optional<double> valid_score() const {
    return predicts_links ? valid.mrr : valid.accuracy;
  }
};

// A line of metrics.jsonl, with its newline. Fields that are not known are
// null.
std::string MetricsLine(const EpochFacts& facts, const EpochSum& sum);

// A line of batches.crc: the batch's seq and its task's CRC32C.
std::string DigestLine(const BatchRecord& record);
// Of the lines of batches [0, num_batches).
uint64_t DigestBytes(uint64_t num_batches);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_EPOCH_SUM_H_
