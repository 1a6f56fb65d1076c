// The features of an import on their way to the dataset.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_FEATURE_STORE_H_
#define FGNN_TOOLS_DATASET_IMPORTING_FEATURE_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/building/feature_sink.h"
#include "tools/dataset/building/feature_table.h"
#include "tools/dataset/importing/import.h"

namespace fgnn {

// Takes rows as they come, or tables whose columns the caller chose. Whether a
// column with gaps is refused or filled is decided by options.fill, once all of
// its rows are known. Not thread-safe.
class FeatureStore {
 public:
  // Both must outlive this object.
  FeatureStore(const ImportOptions& options, const DatasetWriter& writer)
      : options_(options), writer_(writer) {}

  // Call it once, before the rows, which come in the order of global ids.
  // `what` is the array or file that they come from.
  absl::Status Begin(uint64_t columns, std::string what);
  // Appends the row of the next vertex, [columns]. NaN: it has no value there.
  // InvalidArgument: a number is infinite, or features.npy cannot hold it.
  absl::Status Append(absl::Span<const float> row);

  // Adds columns of a table. Its first row is that of vertex `first_vertex`;
  // vertices beyond its rows get 0. The caller has answered for the gaps.
  void AddTable(FeatureTable table, std::vector<size_t> chosen,
                uint64_t first_vertex);

  bool empty() const { return what_.empty() && tables_.empty(); }
  uint64_t rows() const;  // Number of vertices that were given features.
  // Writes features.npy, and adds to the summary. InvalidArgument, naming the
  // column and the number of gaps: there are some, and options.fill refuses
  // them.
  absl::Status Finish(uint64_t num_nodes, ImportSummary* summary);

 private:
  struct Part {
    FeatureTable table;
    std::vector<size_t> chosen;
    uint64_t first_vertex;
  };

  absl::Status FinishRows(uint64_t num_nodes, ImportSummary* summary);
  absl::Status FinishTables(uint64_t num_nodes, ImportSummary* summary);
  absl::Status AccountForGaps(ImportSummary* summary) const;

  const ImportOptions& options_;
  const DatasetWriter& writer_;
  std::string what_;  // Empty: no rows.
  std::optional<FeatureSink> sink_;
  std::vector<NumberColumn> columns_;  // Gaps of rows that went to the sink.
  uint64_t num_rows_ = 0;
  std::vector<float> filled_;
  std::optional<FeatureTable> table_;  // Rows that wait for their means.
  std::vector<Part> tables_;
};

// Returns how gaps were filled, "filled with 0" or "filled with the mean 2.5".
std::string DescribeFill(GapFill fill, double mean);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_FEATURE_STORE_H_
