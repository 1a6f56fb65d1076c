// Fields of a line of a .csv file.
#ifndef FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FIELDS_H_
#define FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FIELDS_H_

#include <string>
#include <string_view>

#include "shared/base/printable_text.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Appends the headings of AppendVertex(): "id,name", or with a role such as
// "source" "source,source_name". If vertices are of several kinds:
// "vertex,kind,id", or "source,source_kind,source_id".
void AppendVertexHeading(std::string_view role, const Dataset& dataset,
                         std::string* line);

// Appends the global id of a vertex and its name, or the kind and the id of
// which the name is made.
void AppendVertex(GlobalId v, const Dataset& dataset, std::string* line);

// Appends the shortest text that reads back as the same number.
void AppendShortest(float value, std::string* line);

// Appends a probability with six digits behind the point.
void AppendProbability(float probability, std::string* line);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FIELDS_H_
