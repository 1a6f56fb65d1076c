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
  // A random graph of 1000 vertices, half of them for training, batches of 16
  // seeds, two hops; two epochs.
  SmallJob();

  const std::filesystem::path& dataset() const { return dataset_; }
  JobSpec spec() const;
  uint64_t job_key() const { return job_key_; }
  const std::string& job_id() const { return job_id_; }
  uint64_t num_batches() const { return 2 * batches_per_epoch_; }
  uint64_t batches_per_epoch() const { return batches_per_epoch_; }

  // The digest of every batch, made by one sampler alone.
  const std::vector<uint32_t>& digests() const { return digests_; }

  // Room for every task in a slot, or for the median one.
  enum class Slots { kRoomy, kTight };
  std::unique_ptr<Segment> MakeSegment(Slots slots, uint32_t num_slots,
                                       uint32_t num_devices = 0) const;
  // Another mapping of it.
  std::unique_ptr<Segment> Attach(const Segment& segment) const;

  // Puts an index that is no vertex into the dataset, behind the validation's
  // back.
  void DamageIndices() const;

 private:
  TempFolder folder_;
  std::filesystem::path dataset_;
  std::string job_id_ = "job-7";
  uint64_t job_key_;
  uint64_t batches_per_epoch_ = 0;
  std::vector<uint32_t> digests_;
  std::vector<uint64_t> task_bytes_;  // Rising.
  uint64_t bound_bytes_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SAMPLER_SERVICE_DAEMON_SMALL_JOB_H_
