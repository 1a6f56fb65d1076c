// The calls of the scheduler to a sampler, beside those of ExecutorService:
// SamplerService of proto/fgnn/v1/executor.proto, without protobuf types.
#ifndef FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_
#define FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/sampling/profile.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// Called on threads of the server, several at once. The proto documents the
// errors.
class SamplerCalls {
 public:
  virtual ~SamplerCalls() = default;
  // `check` returns Cancelled once the caller has gone, and DeadlineExceeded
  // once its deadline has passed. Any thread may call it for the length of the
  // call.
  virtual absl::StatusOr<SamplingProfile> ProfileSampling(
      const JobSpec& spec, uint32_t num_batches,
      const std::function<absl::Status()>& check) = 0;

  struct DatasetAnswer {
    uint64_t state = 0;
    uint64_t content = 0;
    std::string warning;
  };
  virtual absl::StatusOr<DatasetAnswer> ValidateDataset(
      const JobSpec& spec, const std::function<absl::Status()>& check) = 0;

  struct CountQuery {
    uint32_t part = 0;  // Number of the part, in [0, num_parts).
    uint32_t num_parts = 1;
    std::filesystem::path path;
  };
  // Writes the counts of the part. Returns the number of batches of the part.
  virtual absl::StatusOr<uint64_t> CountInputNodes(
      const JobSpec& spec, const CountQuery& query,
      const std::function<absl::Status()>& check) = 0;

  // Writes the counts of a job that this sampler is attached to.
  virtual absl::Status WriteCounts(const std::string& job_id,
                                   const std::filesystem::path& path) = 0;

  struct RankAnswer {
    uint64_t rank_order_key = 0;
    bool needs_counts = false;
  };
  virtual absl::StatusOr<RankAnswer> RankVertices(
      const JobSpec& spec, const std::vector<std::filesystem::path>& counts,
      const std::function<absl::Status()>& check) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_RPC_SAMPLER_CALLS_H_
