// The output of `fgnn dataset import` when it is done.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_IMPORT_REPORT_H_
#define FGNN_TOOLS_DATASET_IMPORTING_IMPORT_REPORT_H_

#include <string>

#include "tools/dataset/importing/import.h"

namespace fgnn {

// Returns some lines for people.
std::string ImportReport(const ImportSummary& summary,
                         const ImportOptions& options, double seconds);

// Returns one JSON document: dataset, num_nodes, num_edges, symmetric,
// duplicates_dropped, self_loops_dropped, feature_columns, feature_type,
// num_classes, target_columns, target_type, labelled, train, valid, test,
// reverses_made, seconds, notes, account.
std::string ImportReportJson(const ImportSummary& summary,
                             const ImportOptions& options, double seconds);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_IMPORT_REPORT_H_
