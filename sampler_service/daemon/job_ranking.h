// The order in which a job's trainers cache vertices: made once, saved with the
// dataset, found again by the next job that would make the same.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_JOB_RANKING_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_JOB_RANKING_H_

#include <cstdint>
#include <filesystem>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/daemon/job_sampling.h"
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

struct HotOrderFacts {
  uint64_t key = 0;
  bool needs_counts = false;  // Nothing was saved: call again with counts.
};

// Sees to it that the job's HotOrder is saved with its dataset. `counts`: the
// files of all parts, or none. DataLoss: one of them has another size. Errors
// of HotOrder::Save().
absl::StatusOr<HotOrderFacts> MakeHotOrder(
    const JobSpec& spec, const JobSampling& job,
    absl::Span<const std::filesystem::path> counts);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_JOB_RANKING_H_
