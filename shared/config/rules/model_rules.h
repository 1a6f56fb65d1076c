// The rules of a kind of model that span several of its options. A job is
// checked by them, and so is a model that a checkpoint describes.
#ifndef FGNN_SHARED_CONFIG_RULES_MODEL_RULES_H_
#define FGNN_SHARED_CONFIG_RULES_MODEL_RULES_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace fgnn {

// Returns true if a model of this kind is code of the user's.
constexpr bool IsUsersKind(std::string_view kind) {
  return kind == "plugin" || kind == "python" || kind == "torchscript";
}

// What the rules read. The values are in their ranges; proto/fgnn/v1/job.proto
// has them.
struct ModelTraits {
  std::string_view kind;
  uint32_t hidden = 0;
  uint32_t heads = 0;
  std::string_view normalization;
  bool residual = false;
};

// InvalidArgument names the options that do not go together, and the way out.
absl::Status CheckModelKind(const ModelTraits& model);

// Checks that a GPU trains models of this kind: users' models train on cores of
// the host alone. InvalidArgument names the kind, and the way out.
absl::Status CheckGpusTrain(std::string_view kind);

// Checks that models of this kind predict links. InvalidArgument otherwise.
absl::Status CheckPredictsLinks(std::string_view kind);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_RULES_MODEL_RULES_H_
