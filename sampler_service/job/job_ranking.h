// The order in which a job's trainers cache vertices. A sampler makes the order
// once and saves it with the dataset. The next job that needs the same order
// finds it there.
#ifndef FGNN_SAMPLER_SERVICE_JOB_JOB_RANKING_H_
#define FGNN_SAMPLER_SERVICE_JOB_JOB_RANKING_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/job/job_sampling.h"
#include "shared/config/job_spec.h"

namespace fgnn {

struct CountPartOptions {
  uint32_t part = 0;  // Number of the part, in [0, num_parts).
  uint32_t num_parts = 1;
  uint32_t num_threads = 1;
  std::filesystem::path path;
  std::function<absl::Status()> check;  // See CountOptions.
};

// Counts the input nodes of a part of the batches that the job's policy counts.
// Writes the counts, u32 [N], to `path`. InvalidArgument: the policy counts
// nothing ahead, or there is no such part. Otherwise returns errors of
// CountInputNodes() and of writing.
absl::Status CountPart(const JobSpec& spec, const JobSampling& job,
                       const CountPartOptions& options);

// Returns the number of batches that are counted while the job trains. With
// policy online these are the batches of the first cache.epochs epochs; with
// other policies 0.
uint64_t OnlineBatches(const JobSpec& spec, const JobSampling& job);

struct RankOrderFacts {
  uint64_t key = 0;
  // Whether no order was saved and the caller has to call again with counts.
  bool needs_counts = false;
};

struct RankOrderOptions {
  // Files of counts, of all parts; with policy online, of all samplers. Empty:
  // there are no counts.
  std::vector<std::filesystem::path> counts;
  std::filesystem::path plugins;  // Folder of the plugins.
  uint32_t num_threads = 1;
  uint32_t num_samplers = 1;  // Number of threads that sample batches.
  std::function<absl::Status()> check;  // See CountOptions.
};

// Makes the job's RankOrder, unless it is there, and saves it with the dataset.
// Policy auto counts in this call, since it finds out meanwhile how many epochs
// it needs. DataLoss: a file of counts has another size. Otherwise returns
// errors of RankOrder::Save() and of the policies.
absl::StatusOr<RankOrderFacts> MakeRankOrder(const JobSpec& spec,
                                             const JobSampling& job,
                                             const RankOrderOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_JOB_JOB_RANKING_H_
