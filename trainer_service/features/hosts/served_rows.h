// The rows of features that a host sends to the trainers of other hosts.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_HOSTS_SERVED_ROWS_H_
#define FGNN_TRAINER_SERVICE_FEATURES_HOSTS_SERVED_ROWS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/features/hosts/own_part.h"
#include "trainer_service/features/hosts/row_links.h"

namespace fgnn {

// Opens the rows of a dataset's folder as trainers of the job read them.
// Borrows the dataset.
using StoreOpener = std::function<absl::StatusOr<std::unique_ptr<FeatureStore>>(
    const Dataset& dataset, const FeaturesSpec& features)>;

// What was sent.
struct SentRows {
  std::atomic<uint64_t> rows = 0;
  std::atomic<uint64_t> bytes = 0;  // Bytes of these rows.
};

// Thread-safe.
class ServedRows {
 public:
  // Opens the job's dataset. `totals`, which is borrowed: what is sent is added
  // there. Errors: those of Dataset::Open(), OwnPart::Open() and `open`.
  static absl::StatusOr<std::unique_ptr<ServedRows>> Open(
      const JobSpec& spec, const StoreOpener& open, SentRows* totals);
  // Serves the rows of a store. `part`: row r of the store is own row r;
  // nullopt: the store has all rows.
  ServedRows(std::unique_ptr<FeatureStore> store, std::optional<OwnPart> part,
             SentRows* totals);

  RowsOfHost Describe() const;
  uint64_t row_bytes() const { return store_->row_bytes(); }
  // Copies the stored rows of `nodes` to out [nodes.size(), row_bytes()].
  // InvalidArgument: the row of a node is not here. Other errors: the store's.
  absl::Status CopyRows(absl::Span<const GlobalId> nodes, std::byte* out) const;

 private:
  // Puts own rows in the place of their vertices.
  absl::Status FindOwn(std::vector<GlobalId>& nodes) const;

  std::optional<Dataset> dataset_;  // The store borrows it.
  const std::unique_ptr<FeatureStore> store_;
  const std::optional<OwnPart> part_;
  SentRows* const totals_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_HOSTS_SERVED_ROWS_H_
