// Features that stay on the disk, for datasets that are larger than memory.
// io_uring reads them past the page cache.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_DISK_FEATURE_STORE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_DISK_FEATURE_STORE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "trainer_service/features/cpu/read_queue.h"
#include "trainer_service/features/cpu/uring_read_queue.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

struct DiskStoreOptions {
  uint32_t depth = 128;  // Reads in flight at once, for each thread.
  MakeReadQueue make_queue = MakeUringReadQueue;
};

// Keeps the file open. Each thread that reads has a queue, and buffers of
// min(depth * 32 KiB, 64 MiB); rows that do not fit get more. Threads pass
// queues and buffers on.
class DiskFeatureStore : public FeatureStore {
 public:
  // Returns the number of reads handed to the disk so far. A page of several
  // rows counts once.
  virtual uint64_t num_reads() const = 0;
};

// FailedPrecondition, with the way out: the file system has no direct I/O or
// the kernel no io_uring. DataLoss: the file is shorter than its rows.
// InvalidArgument: the depth is 0 or above 4096, or there are no columns. Other
// errors: those of opening. All errors name the file.
absl::StatusOr<std::unique_ptr<DiskFeatureStore>> OpenDiskFeatureStore(
    const FeatureFile& file, const DiskStoreOptions& options = {});

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_DISK_FEATURE_STORE_H_
