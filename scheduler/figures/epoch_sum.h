// The sum of an epoch's batch records, added in batch order.
#ifndef FGNN_SCHEDULER_FIGURES_EPOCH_SUM_H_
#define FGNN_SCHEDULER_FIGURES_EPOCH_SUM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/objective.h"
#include "shared/measured/device_times.h"
#include "shared/measured/scores.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

// Seconds of each stage, summed over all executors.
struct StageSeconds {
  double order = 0, sample = 0, id_map = 0, mark = 0, copy = 0, split = 0;
  double wait = 0, extract = 0, train = 0, sync = 0;
  double shuffle = 0;  // Seconds of waits for other parts of a batch.
};

// A stage of a batch: its name, its seconds in a sum and in a record.
struct BatchStage {
  const char* name;
  double StageSeconds::*seconds;
  float BatchRecord::*of_task;
};
// Returns all stages, those of samplers first.
absl::Span<const BatchStage> BatchStages();

class EpochSum {
 public:
  // Adds a task. A batch of several parts counts with its first part.
  void Add(const BatchRecord& record);

  uint64_t batches() const { return batches_; }
  uint64_t edges() const { return edges_; }
  uint64_t input_nodes() const { return input_nodes_; }
  // Returns how many input nodes were found in a cache.
  uint64_t cache_hits() const { return cache_hits_; }
  // Returns the mean loss of the seeds, or pairs, so far; 0 without any.
  double loss() const;
  // Returns the share of input nodes found in a cache, in [0, 1]; 0 without
  // any.
  double cache_hit_rate() const;
  // Returns how many of the others were copied from a trainer's batch before.
  uint64_t matched() const { return matched_; }
  // Returns the share of input nodes found in no cache that were copied so, in
  // [0, 1]; 0 without any.
  double match_rate() const;
  // Returns how many input nodes were neither found in a cache nor copied so.
  uint64_t rows_loaded() const { return input_nodes_ - cache_hits_ - matched_; }
  // Returns how many of these another host sent.
  uint64_t rows_remote() const { return remote_; }
  // Returns the bytes of the rows that parts of batches sent each other.
  uint64_t message_bytes() const { return message_bytes_; }
  // Return the most and the mean staleness of the batches; 0 without any.
  // Staleness is the number of versions by which a batch's weights were older
  // than those that it changed.
  uint32_t staleness_max() const { return staleness_max_; }
  double staleness_mean() const;
  const StageSeconds& stages() const { return stages_; }

  // Writes the sum for a checkpoint within an epoch, and reads it back to the
  // bit. DataLoss: the text is not from ToJson().
  std::string ToJson() const;
  static absl::StatusOr<EpochSum> FromJson(const std::string& text);

 private:
  uint64_t batches_ = 0;
  uint64_t seeds_ = 0;
  uint64_t edges_ = 0;
  uint64_t input_nodes_ = 0;
  uint64_t cache_hits_ = 0;
  uint64_t matched_ = 0;
  uint64_t remote_ = 0;
  uint64_t message_bytes_ = 0;
  uint64_t staleness_ = 0;
  uint32_t staleness_max_ = 0;
  double loss_sum_ = 0;
  StageSeconds stages_;
};

// One epoch of a device that takes turns. Times are of a batch, as the device
// makes them. Deviations are of the stages that a thread works at. 0: not
// known.
struct DeviceFacts {
  std::string device;
  // Plan at the epoch's start, "sampler", …; "lost" if it is lost at the end.
  std::string plan;
  DeviceTimes times = {};
  double sample_deviation_ms = 0;
  double train_deviation_ms = 0;
  double wake_ms = 0;    // Longest time from a decision to train to a batch.
  uint64_t sampled = 0;  // Number of batches, or of parts of batches.
  uint64_t trained = 0;
  double cache_hit_rate = 0;  // Rate over the batches that it trained.
};

// The other facts in a line of metrics.jsonl.
struct EpochFacts {
  uint32_t epoch = 1;  // Number of the epoch, from 1.
  // Seconds from the opening of the epoch to its last commit, without
  // evaluation and checkpoints. The next epoch is sampled ahead meanwhile.
  double seconds = 0;
  Objective objective = Objective::kClasses;  // Decides which scores it has.
  Scores valid = {};                          // Scores on the validation split.
  double evaluate_seconds = 0;
  // Numbers of executors; where devices take turns, of devices by their plans.
  uint32_t samplers = 0;
  uint32_t trainers = 0;
  uint32_t switches = 0;  // Number of wakes of standby trainers.
  std::vector<DeviceFacts> devices = {};  // Devices, if they take turns.
};

// Returns a line of metrics.jsonl, with its newline. Fields that are not known
// are null.
std::string MetricsLine(const EpochFacts& facts, const EpochSum& sum);

// Returns a line of batches.crc: the batch's seq and its task's CRC32C.
std::string DigestLine(const BatchRecord& record);
// Returns the bytes of the lines of batches [0, num_batches).
uint64_t DigestBytes(uint64_t num_batches);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_EPOCH_SUM_H_
