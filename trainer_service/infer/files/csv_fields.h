// Fields of a line of a .csv file.
#ifndef FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FIELDS_H_
#define FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FIELDS_H_

#include <string>

#include "shared/base/printable_text.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Appends "id,name" of a vertex.
void AppendVertex(GlobalId v, const Dataset& dataset, std::string* line);

// Appends the shortest text that reads back as the same number.
void AppendShortest(float value, std::string* line);

// Appends a probability with six digits behind the point.
void AppendProbability(float probability, std::string* line);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FIELDS_H_
