// Rules for what a job names of the user's own code: plugins and models.
#ifndef FGNN_SHARED_CONFIG_RULES_USER_CODE_RULES_H_
#define FGNN_SHARED_CONFIG_RULES_USER_CODE_RULES_H_

#include <string>

#include "absl/status/status.h"
#include "fgnn/v1/job.pb.h"

namespace fgnn {

// A field that names something of the user's, and the kind that needs the name.
struct NamedKind {
  const char* field;  // "model.plugin"
  const std::string& value;
  const char* kind_field;  // "model.kind"
  const std::string& kind;
  const char* needed_by;  // "plugin"
  const char* what;       // "the plugin"
};

// Checks that the field is there for its kind, and for no other.
// InvalidArgument names the field, and the way out.
absl::Status CheckNamed(const NamedKind& named);

// Checks the fields of a model that the user wrote, and those that only our
// models have. The spec has its defaults. InvalidArgument names the field, and
// the way out.
absl::Status CheckUserModel(const v1::JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_RULES_USER_CODE_RULES_H_
