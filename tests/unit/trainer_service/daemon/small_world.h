// All that a trainer needs: a small dataset folder, a job on it, a segment for
// the job, and a sampler of made-up batches.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_SMALL_WORLD_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_SMALL_WORLD_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "shared/config/job_spec.h"
#include "shared/graph/rank_order.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/segment.h"

namespace fgnn {

inline constexpr OwnerIndex kSamplerOwner{1};
inline constexpr uint32_t kSmallNodes = 120;
inline constexpr uint64_t kSmallColumns = 6;
inline constexpr uint32_t kSmallClasses = 3;

// Writes a dataset with the numbers of vertices, feature columns and classes
// above. With `broken`, the features are NaN. For an objective that has targets
// there are as many columns of them as classes otherwise.
void WriteSmallDataset(const std::filesystem::path& folder, bool broken = false,
                       Objective objective = Objective::kClasses);

// Cuts such a dataset into the folders host0 and host1 of `out`, by a book of
// its own.
void CutInTwo(const std::filesystem::path& dataset,
              const std::filesystem::path& out);

// Returns a job of two layers, batches of 8 seeds, 7 batches an epoch, 2
// epochs, W = 3.
JobSpec SmallJob(const std::filesystem::path& dataset);
SegmentOptions SmallSegmentOptions(const std::string& job_id);

// Returns the same job with link prediction. Each batch has three edges, and
// two negatives for each edge.
JobSpec SmallLinkJob(const std::filesystem::path& dataset);
SegmentOptions SmallLinkSegmentOptions(const std::string& job_id);

// Fills a block with batch `seq`. The batch is random, but always the same for
// a seq. Marks it by `order`, if there is one.
absl::Status WriteMadeUpTask(absl::Span<std::byte> block, uint64_t job_key,
                             BatchSeq seq, const RankOrder* order = nullptr,
                             bool links = false);

// Fills a block with a batch that has no seeds, and so no edges and input
// nodes.
absl::Status WriteTaskWithoutSeeds(absl::Span<std::byte> block,
                                   uint64_t job_key, BatchSeq seq);

// Claims, fills and publishes the next slot. Returns false if none is free now.
bool SampleNext(GlobalQueue* queue, uint64_t job_key,
                const RankOrder* order = nullptr, bool links = false);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_SMALL_WORLD_H_
