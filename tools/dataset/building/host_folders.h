// Cuts a dataset into folders for hosts that share its features out.
#ifndef FGNN_TOOLS_DATASET_BUILDING_HOST_FOLDERS_H_
#define FGNN_TOOLS_DATASET_BUILDING_HOST_FOLDERS_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"

namespace fgnn {

struct CutOptions {
  uint32_t owners = 2;  // Number of folders, in [1, kMostOwners].
  std::filesystem::path out;
  ProgressCallback progress;              // May be empty.
  InterruptCleanup* interrupt = nullptr;  // Borrowed; may be null.
};

struct HostFolderSummary {
  std::filesystem::path folder;
  uint64_t num_rows = 0;   // Rows of features.
  uint64_t num_train = 0;  // Vertices of train.npy that the owner has.
};

// Makes `out` with host0, host1 and so on: a host folder for each owner, in
// their order (shared/graph/README.md). All other files of the dataset's folder
// are copied, but none of a folder in it. `out` appears whole or not at all.
// InvalidArgument: the dataset has no features, or is a host folder itself.
// Otherwise returns errors of DatasetWriter and of Dataset::Open().
absl::StatusOr<std::vector<HostFolderSummary>> CutHostFolders(
    const Dataset& dataset, const PartitionBook& book,
    const CutOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_HOST_FOLDERS_H_
