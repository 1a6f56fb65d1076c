#include "trainer_service/features/hosts/served_rows.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<ServedRows>> ServedRows::Open(
    const JobSpec& spec, const StoreOpener& open, SentRows* totals) {
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<FeatureStore> store,
                        open(dataset, spec.features));
  std::optional<OwnPart> part;
  if (dataset.host_rows().has_value()) {
    FGNN_ASSIGN_OR_RETURN(part, OwnPart::Open(dataset));
  }
  auto rows =
      std::make_unique<ServedRows>(std::move(store), std::move(part), totals);
  rows->dataset_ = std::move(dataset);
  return rows;
}

ServedRows::ServedRows(std::unique_ptr<FeatureStore> store,
                       std::optional<OwnPart> part, SentRows* totals)
    : store_(std::move(store)), part_(std::move(part)), totals_(totals) {}

RowsOfHost ServedRows::Describe() const {
  RowsOfHost has;
  has.type = store_->type();
  has.columns = store_->num_columns();
  if (part_.has_value()) has.rows = part_->rows;
  return has;
}

absl::Status ServedRows::CopyRows(absl::Span<const GlobalId> nodes,
                                  std::byte* out) const {
  std::vector<GlobalId> rows(nodes.begin(), nodes.end());
  if (part_.has_value()) {
    FGNN_RETURN_IF_ERROR(FindOwn(rows));
  } else {
    FGNN_RETURN_IF_ERROR(CheckNodes(rows, store_->num_rows()));
  }
  FGNN_RETURN_IF_ERROR(store_->CopyStoredRows(rows, out));
  totals_->rows += rows.size();
  totals_->bytes += rows.size() * row_bytes();
  return absl::OkStatus();
}

absl::Status ServedRows::FindOwn(std::vector<GlobalId>& nodes) const {
  for (GlobalId& node : nodes) {
    if (node >= part_->book.num_nodes() || !part_->index.Has(node)) {
      return absl::InvalidArgumentError(
          absl::StrCat("this host has ", fgnn::Describe(part_->rows),
                       ", and not that of global id ", node));
    }
    node = static_cast<GlobalId>(part_->index.RowOf(node));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
