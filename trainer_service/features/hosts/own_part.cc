#include "trainer_service/features/hosts/own_part.h"

#include <utility>

#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<OwnPart> OwnPart::Open(const Dataset& dataset) {
  FGNN_ASSIGN_OR_RETURN(PartitionBook book, PartitionBook::Open(dataset));
  FGNN_ASSIGN_OR_RETURN(OwnRows index, OwnRows::Open(dataset, book));
  return OwnPart{*dataset.host_rows(), std::move(book), std::move(index)};
}

}  // namespace fgnn
