// The nodes file of a CSV import: ids, features, labels and splits by vertex.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_CSV_NODES_H_
#define FGNN_TOOLS_DATASET_IMPORTING_CSV_NODES_H_

#include "absl/status/status.h"
#include "tools/dataset/building/vertex_numbering.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_target.h"

namespace fgnn {

// Declares a vertex per record to `numbering` (of kind kKnownNames). Hands
// features, labels and splits to `target`. Labels of one column that are no
// numbers are class names in alphabetical order. Text files keep the names of
// classes, features and targets.
absl::Status ReadCsvNodes(const CsvSource& source, VertexNumbering& numbering,
                          ImportTarget& target);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_CSV_NODES_H_
