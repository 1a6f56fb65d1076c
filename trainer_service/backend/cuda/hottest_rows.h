// Which rows of features a trainer caches on its device, and where they lie.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_HOTTEST_ROWS_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_HOTTEST_ROWS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/graph/rank_order.h"
#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

// The place of each hot rank in a table. It takes 4 bytes a rank up to that of
// the table's last row: at most those of RanksForHome().
class TablePlaces {
 public:
  TablePlaces() = default;  // Each rank is its place.
  explicit TablePlaces(std::vector<uint32_t> places)
      : places_(std::move(places)) {}

  // Returns the places of ranks: `ranks` themselves, or `room`. The place of a
  // rank that the table has not is UINT32_MAX.
  absl::Span<const uint32_t> Of(absl::Span<const uint32_t> ranks,
                                std::vector<uint32_t>* room) const;

 private:
  std::vector<uint32_t> places_;  // Empty: each rank is its place.
};

struct HottestRows {
  std::vector<GlobalId> vertices;  // Those that the table has, row by row.
  TablePlaces places;
};

// Returns the first `rows` vertices of the order, or of those that are at
// `home`: fewer if so few are among RanksForHome(). Errors: those of
// PartitionBook::Open(). FailedPrecondition: the dataset has another book.
absl::StatusOr<HottestRows> FindHottest(const Dataset& dataset,
                                        const RankOrder& order, uint64_t rows,
                                        const std::optional<HomeParts>& home);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_HOTTEST_ROWS_H_
