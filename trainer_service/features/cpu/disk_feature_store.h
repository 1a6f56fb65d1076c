// Features that stay on the disk: read by io_uring past the page cache, for
// datasets that are larger than memory.
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
  uint32_t depth = 128;  // Reads under way at once, for each thread.
  MakeReadQueue make_queue = MakeUringReadQueue;
};

// Keeps the file open; each thread that reads has a queue and buffers of
// min(depth * 32 KiB, 64 MiB), more for rows that do not fit, kept for the
// next one.
class DiskFeatureStore : public FeatureStore {
 public:
  // Reads handed to the disk so far: pages of several rows count once.
  virtual uint64_t num_reads() const = 0;
};

// FailedPrecondition: the file system has no direct I/O or the kernel no
// io_uring, with the way out. DataLoss: the file is shorter than its rows.
// InvalidArgument: a depth of 0 or above 4096, or no columns. Else errors of
// opening. All name the file.
absl::StatusOr<std::unique_ptr<DiskFeatureStore>> OpenDiskFeatureStore(
    const FeatureFile& file, const DiskStoreOptions& options = {});

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_DISK_FEATURE_STORE_H_
