// A dataset folder, a job on it, and the segment that was planned for it.
#ifndef FGNN_TESTS_UNIT_SAMPLER_SERVICE_DAEMON_SMALL_JOB_H_
#define FGNN_TESTS_UNIT_SAMPLER_SERVICE_DAEMON_SMALL_JOB_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "shared/config/job_spec.h"
#include "shared/queue/segment.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {

class SmallJob {
 public:
  // Makes a random graph of 1000 vertices, half of them for training, and a job
  // with batches of 16 seeds, two hops and two epochs.
  SmallJob();

  const std::filesystem::path& dataset() const { return dataset_; }
  JobSpec spec() const;
  uint64_t job_key() const { return job_key_; }
  const std::string& job_id() const { return job_id_; }
  uint64_t num_batches() const { return 2 * batches_per_epoch_; }
  uint64_t batches_per_epoch() const { return batches_per_epoch_; }

  // The digests of all batches, as one sampler alone makes them.
  const std::vector<uint32_t>& digests() const { return digests_; }

  // Size of a slot: room for every task, or only for the median task. kCramped:
  // an overflow block has no more.
  enum class Slots { kRoomy, kTight, kCramped };
  std::unique_ptr<Segment> MakeSegment(Slots slots, uint32_t num_slots,
                                       uint32_t num_devices = 0) const;
  // Returns another mapping of the segment.
  std::unique_ptr<Segment> Attach(const Segment& segment) const;

  // Writes an index that is not a vertex into the dataset, after its
  // validation.
  void DamageIndices() const;

 private:
  TempFolder folder_;
  std::filesystem::path dataset_;
  std::string job_id_ = "job-7";
  uint64_t job_key_;
  uint64_t batches_per_epoch_ = 0;
  std::vector<uint32_t> digests_;
  std::vector<uint64_t> task_bytes_;  // Bytes of the tasks, in rising order.
  uint64_t bound_bytes_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SAMPLER_SERVICE_DAEMON_SMALL_JOB_H_
