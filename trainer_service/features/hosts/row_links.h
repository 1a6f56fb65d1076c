// The links over which a trainer asks other hosts for rows of features. A row
// never changes, so a host may ask for it again after any break.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_HOSTS_ROW_LINKS_H_
#define FGNN_TRAINER_SERVICE_FEATURES_HOSTS_ROW_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/feature_type.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

// The rows that a host has.
struct RowsOfHost {
  HostRows rows;
  FeatureType type = FeatureType::kFloat32;  // Type of what the host sends.
  uint64_t columns = 0;
};

// Takes the next rows: a whole number of them.
using TakeRows =
    absl::FunctionRef<absl::Status(absl::Span<const std::byte> rows)>;

// Hosts are named by their indices in the job. Both functions ask `is_stopped`
// about ten times a second, and end with an error soon after it returned true.
// Unavailable: the link is broken, or the host does not have the job yet.
// Thread-safe.
class RowLinks {
 public:
  virtual ~RowLinks() = default;
  virtual absl::StatusOr<RowsOfHost> Describe(
      uint32_t host, const std::function<bool()>& is_stopped) = 0;
  // Calls `take` with the rows of `nodes`, in their order. Ends with the first
  // error of `take`.
  virtual absl::Status CopyRows(uint32_t host, absl::Span<const GlobalId> nodes,
                                TakeRows take,
                                const std::function<bool()>& is_stopped) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_HOSTS_ROW_LINKS_H_
