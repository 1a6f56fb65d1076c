// The order in which a job's trainers cache vertices: made once, saved with the
// dataset, found again by the next job that would make the same.
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
  uint32_t part = 0;  // In [0, num_parts).
  uint32_t num_parts = 1;
  uint32_t num_threads = 1;
  std::filesystem::path path;
  std::function<absl::Status()> check;  // See CountOptions.
};

// Counts the input nodes of a part of the batches that the job's policy wants
// counted, and writes the counts, u32 [N], to `path`. Returns the number of
// batches of the part. InvalidArgument: the policy counts nothing, or there is
// no such part. Else errors of CountInputNodes() and of writing.
absl::StatusOr<uint64_t> CountPart(const JobSpec& spec, const JobSampling& job,
                                   const CountPartOptions& options);

// Batches of the job that are counted while they are trained: those of its
// first cache.epochs epochs with policy online, else none.
uint64_t OnlineBatches(const JobSpec& spec, const JobSampling& job);

struct RankOrderFacts {
  uint64_t key = 0;
  bool needs_counts = false;  // Nothing was saved: call again with counts.
};

struct RankOrderOptions {
  // Of all parts, or, of policy online, of all samplers; or none.
  std::vector<std::filesystem::path> counts;
  std::filesystem::path plugins;  // The folder that they are in.
  uint32_t num_threads = 1;
  std::function<absl::Status()> check;  // See CountOptions.
};

// Sees to it that the job's RankOrder is saved with its dataset. Policy auto
// counts here, as it finds out on the way how many epochs it needs. DataLoss:
// counts of another size. Errors of RankOrder::Save() and of the policies.
absl::StatusOr<RankOrderFacts> MakeRankOrder(const JobSpec& spec,
                                             const JobSampling& job,
                                             const RankOrderOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_JOB_JOB_RANKING_H_
