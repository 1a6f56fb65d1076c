// Makes a dataset folder that appears whole or not at all. Everything is
// written to a sibling folder `.<name>.partial-<pid>`, which Commit() renames.
#ifndef FGNN_TOOLS_DATASET_BUILDING_DATASET_WRITER_H_
#define FGNN_TOOLS_DATASET_BUILDING_DATASET_WRITER_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/graph/metadata.h"
#include "tools/dataset/building/interrupt_cleanup.h"

namespace fgnn {

// The destructor removes what was written unless Commit() succeeded. Not
// thread-safe.
class DatasetWriter {
 public:
  // Makes missing parents. Removes what a killed writer of the same `out` left.
  // AlreadyExists if `out` exists and is not an empty folder. With `interrupt`
  // (borrowed), a signal removes the unfinished files too.
  static absl::StatusOr<DatasetWriter> Create(
      const std::filesystem::path& out, InterruptCleanup* interrupt = nullptr);
  DatasetWriter(DatasetWriter&& other) noexcept;
  DatasetWriter& operator=(DatasetWriter&& other) noexcept;
  ~DatasetWriter();

  // Folder for the files until Commit().
  const std::filesystem::path& folder() const { return partial_; }

  absl::Status WriteLabels(absl::Span<const int64_t> labels);
  // "train", "valid" or "test".
  absl::Status WriteSplit(const std::string& name,
                          absl::Span<const int64_t> ids);
  // Writes a text file of `count` lines. InvalidArgument: a line holds a line
  // end itself, or is not UTF-8 (names.txt may hold any bytes).
  absl::Status WriteLines(
      const std::string& file, uint64_t count,
      absl::FunctionRef<std::string_view(uint64_t)> line) const;
  // Writes metadata.yaml, validates the folder (kStructure), flushes it to the
  // disk and renames it. An empty name is replaced by that of `out`.
  absl::Status Commit(const DatasetMetadata& metadata);
  // Flushes the folder, with the folders in it, and renames it, whatever it
  // has.
  absl::Status CommitAsItIs();

 private:
  DatasetWriter() = default;
  void Abandon();

  std::filesystem::path out_;
  std::filesystem::path partial_;  // Empty once committed or moved from.
  // Parent folders that were made, outermost first.
  std::vector<std::filesystem::path> made_parents_;
  InterruptCleanup* interrupt_ = nullptr;
  UniqueFd lock_;  // Lock on partial_, held as long as this object lives.
};

// Returns an error of making the folder `out`, which names the folder itself
// where it named the one for unfinished files: that one is gone by then.
absl::Status NameWholeFolder(const absl::Status& error,
                             const std::filesystem::path& out);

// Splits the labelled vertices at random, keyed by `seed`. A share is for
// training, half of the rest for validation, the other half for test. Ids
// ascend in each split.
struct Splits {
  std::vector<int64_t> train, valid, test;
};
Splits MakeSplits(absl::Span<const int64_t> labels, double train_fraction,
                  uint64_t seed);
// The same for vertices whose labels are other than classes: splits those for
// which `is_labelled` holds.
Splits MakeSplits(uint64_t num_nodes,
                  absl::FunctionRef<bool(uint64_t)> is_labelled,
                  double train_fraction, uint64_t seed);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_DATASET_WRITER_H_
