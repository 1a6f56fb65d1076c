// Finds a field of the job file by its last word, or by what others call it.
#ifndef FGNN_SHARED_CONFIG_JOB_FIELD_PATH_H_
#define FGNN_SHARED_CONFIG_JOB_FIELD_PATH_H_

#include <string>

namespace fgnn {

// Returns the path of the job's field that has this name, e.g. of "epochs":
// "training.epochs". Returns the path of the field that others call so, e.g. of
// "lr": "training.learning_rate", if no field has the name. Returns an empty
// string if neither is there.
std::string JobFieldPath(const std::string& name);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_JOB_FIELD_PATH_H_
