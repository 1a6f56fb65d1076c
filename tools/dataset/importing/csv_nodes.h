// The nodes files of a CSV import: ids, features, labels and splits by vertex.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_CSV_NODES_H_
#define FGNN_TOOLS_DATASET_IMPORTING_CSV_NODES_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/dataset/building/vertex_numbering.h"
#include "tools/dataset/importing/csv_labels.h"
#include "tools/dataset/importing/csv_numbers.h"
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_target.h"

namespace fgnn {

// Declares a vertex per record, and hands features, labels and splits to the
// target. Labels of one column that are no numbers are class names in
// alphabetical order. Text files keep the names of classes, features and
// targets. Not thread-safe.
class CsvNodes {
 public:
  // All must outlive this object.
  CsvNodes(const CsvSource& source, VertexNumbering& numbering,
           ImportTarget& target)
      : source_(source), numbering_(numbering), target_(target) {}

  // Reads a file. `kind` is that of its vertices, empty without
  // source.bipartite; a column that several files have is one of each.
  absl::Status Read(const std::filesystem::path& path, const std::string& kind);

  // Call it once, after all files. Vertices that no file declared, up to
  // `num_nodes`, have no labels.
  absl::Status Finish(uint64_t num_nodes);

 private:
  struct Columns {
    size_t id = 0;
    std::optional<size_t> split;
    std::vector<size_t> labels;  // As many as source_ names, or none.
  };

  absl::StatusOr<Columns> ChooseColumns(const CsvTable& table,
                                        const std::string& kind) const;
  absl::Status ChooseLabels(const CsvTable& table, Columns& columns) const;
  absl::Status BeginLabels(const CsvTable& table, const Columns& columns);
  absl::StatusOr<std::vector<size_t>> NumberPlaces(
      const CsvTable& table, const Columns& columns) const;
  absl::Status AddRecord(absl::Span<const std::string_view> fields,
                         const Columns& columns, const CsvTable& table,
                         const std::string& kind);
  absl::Status AddToSplit(std::string_view text, GlobalId vertex,
                          const CsvTable& table, size_t column);
  void Account(const CsvTable& table, const Columns& columns,
               uint64_t num_vertices);

  const CsvSource& source_;
  VertexNumbering& numbering_;
  ImportTarget& target_;
  std::optional<CsvLabels> labels_;  // Set once a file has the columns.
  std::vector<std::string> feature_names_;
  MissingCount unsplit_;    // Vertices of the file without a split.
  std::string split_what_;  // File of the splits; empty: there are none.
  std::vector<int64_t> train_, valid_, test_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_CSV_NODES_H_
