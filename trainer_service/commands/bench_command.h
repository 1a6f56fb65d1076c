// Measures training in one process, without queue, board and daemons.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_BENCH_COMMAND_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_BENCH_COMMAND_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

// Seconds of one pass over all batches.
struct TrainingRound {
  double extract = 0;
  double train = 0;
  double sync = 0;  // Seconds of the optimizer's steps, one per batch.
};

// Trains on the batches of `tasks` as the job would on one device. `tasks`: a
// folder of files task-0, task-1, … that hold one task each (job key 0). Makes
// `num_rounds` rounds after one that does not count. num_threads >= 1.
// NotFound: there is no task-0. DataLoss: a file holds no task.
// ResourceExhausted: no memory is left. Otherwise returns errors of `open` and
// of the back end.
absl::StatusOr<std::vector<TrainingRound>> BenchTraining(
    const JobSpec& spec, const std::filesystem::path& tasks,
    uint32_t num_rounds, int num_threads, const BackendFactory& open);

struct TrainingBenchOptions {
  std::string request;  // A ProfileTrainingCommand as JSON, for its spec.
  std::string device;   // "cpu:0-3"
  std::filesystem::path tasks;
  uint32_t rounds = 3;
};

// Runs "fgnn-trainer bench". Returns the rounds as one line of JSON, a list of
// objects with the fields of TrainingRound. Pins the calling thread.
absl::StatusOr<std::string> RunBenchCommand(const TrainingBenchOptions& options,
                                            const BackendFactory& open);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_BENCH_COMMAND_H_
