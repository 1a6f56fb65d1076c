// Makes a dataset folder so that it appears whole or not at all: everything is
// written to a sibling folder `.<name>.partial-<pid>`, which Commit() renames.
#ifndef FGNN_TOOLS_DATASET_DATASET_WRITER_H_
#define FGNN_TOOLS_DATASET_DATASET_WRITER_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// What metadata.yaml says; written by Commit().
struct DatasetMetadata {
  std::string name;
  std::string source;       // Where it came from, one line for people.
  uint64_t num_nodes = 0;
  uint64_t num_edges = 0;
  uint64_t feature_columns = 0;  // 0: no features.
  FeatureType feature_type = FeatureType::kFloat32;
  uint32_t num_classes = 0;      // 0: no labels.
  bool symmetric = false;
};

// Removes what it wrote unless Commit() succeeded. Not thread-safe.
class DatasetWriter {
 public:
  // AlreadyExists if `out` exists and is not an empty folder.
  static absl::StatusOr<DatasetWriter> Create(const std::filesystem::path& out);
  DatasetWriter(DatasetWriter&& other) noexcept;
  DatasetWriter& operator=(DatasetWriter&& other) noexcept;
  ~DatasetWriter();

  // Where to put files meanwhile.
  const std::filesystem::path& folder() const { return partial_; }

  absl::Status WriteLabels(absl::Span<const int64_t> labels);
  // "train", "valid" or "test".
  absl::Status WriteSplit(const std::string& name,
                          absl::Span<const int64_t> ids);
  // Writes metadata.yaml, validates the folder (kStructure), renames it.
  absl::Status Commit(const DatasetMetadata& metadata);

 private:
  DatasetWriter(std::filesystem::path out, std::filesystem::path partial);
  std::filesystem::path out_;
  std::filesystem::path partial_;  // Empty once committed or moved from.
};

// Splits the labelled vertices at random, keyed by `seed`: a share for
// training, half of the rest for validation, the other half for test. Ids
// ascend in each.
struct Splits {
  std::vector<int64_t> train, valid, test;
};
Splits MakeSplits(absl::Span<const int64_t> labels, double train_fraction,
                  uint64_t seed);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_DATASET_WRITER_H_
