#include "trainer_service/backend/cuda/hottest_rows.h"

#include "shared/base/status.h"
#include "shared/graph/book/home_ranks.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

absl::Span<const uint32_t> TablePlaces::Of(absl::Span<const uint32_t> ranks,
                                           std::vector<uint32_t>* room) const {
  if (places_.empty()) return ranks;
  room->clear();
  for (const uint32_t rank : ranks) {
    room->push_back(rank < places_.size() ? places_[rank] : UINT32_MAX);
  }
  return *room;
}

absl::StatusOr<HottestRows> FindHottest(const Dataset& dataset,
                                        const RankOrder& order, uint64_t rows,
                                        const std::optional<HomeParts>& home) {
  if (!home.has_value()) return HottestRows{order.Hottest(rows), {}};
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book, PartitionBook::Open(dataset));
  if (book.key() != home->book) {
    return absl::FailedPreconditionError(
        "the dataset's partition book has changed since the job began");
  }
  const absl::Span<const GlobalId> ranked = order.vertices().subspan(
      0, RanksForHome(book.num_nodes(), home->num_homes, rows));
  HottestRows hottest;
  std::vector<uint32_t> places;
  places.reserve(ranked.size());
  for (const GlobalId v : ranked) {
    if (hottest.vertices.size() >= rows) break;
    // The order is a file, which may change.
    const bool is_vertex = v < book.num_nodes();
    const bool is_home =
        is_vertex &&
        OwnerOfPart(book.PartOf(v), home->num_parts) % home->num_homes ==
            home->home;
    places.push_back(is_home ? static_cast<uint32_t>(hottest.vertices.size())
                             : UINT32_MAX);
    if (is_home) hottest.vertices.push_back(v);
  }
  hottest.places = TablePlaces(std::move(places));
  return hottest;
}

}  // namespace fgnn
