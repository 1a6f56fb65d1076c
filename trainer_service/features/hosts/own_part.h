// The part of a dataset's features that a host folder has.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_HOSTS_OWN_PART_H_
#define FGNN_TRAINER_SERVICE_FEATURES_HOSTS_OWN_PART_H_

#include "absl/status/statusor.h"
#include "shared/graph/book/own_rows.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

struct OwnPart {
  // Opens the part of a folder that has host_rows(). Errors: those of
  // PartitionBook::Open() and OwnRows::Open().
  static absl::StatusOr<OwnPart> Open(const Dataset& dataset);

  HostRows rows;
  PartitionBook book;
  OwnRows index;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_HOSTS_OWN_PART_H_
