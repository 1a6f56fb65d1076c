// Which train vertices each place of a step draws its seeds from, with
// training.seeds: own. README.md says why shares stay when hosts change. Pure
// functions.
#ifndef FGNN_SHARED_GRAPH_BOOK_SEED_SHARES_H_
#define FGNN_SHARED_GRAPH_BOOK_SEED_SHARES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

// The shares of a run's hosts, in the order in which the run began with them. A
// share has places in a row of each step, and fine parts of the book.
struct SeedShares {
  // PartitionBook::key(); 0: every place draws from all train vertices.
  uint64_t book = 0;
  std::vector<uint64_t> places = {};  // Number of places of each share.
  // Share of each fine part.
  std::array<uint8_t, kFineParts> share_of_part = {};

  bool are_own() const { return book != 0; }
  friend bool operator==(const SeedShares&, const SeedShares&) = default;
};

// A host that a run begins with.
struct HostOfShare {
  uint64_t num_places = 0;
  HostRows rows = {};  // Rows that its folder has.
};

// Returns the shares of hosts, at least one of which has places. `book` is not
// 0.
SeedShares MakeSeedShares(uint64_t book, absl::Span<const HostOfShare> hosts);

// Returns one line without quotes: the book, the places, and the shares of the
// parts.
std::string ToText(const SeedShares& shares);
// nullopt: the text is not from ToText().
std::optional<SeedShares> SeedSharesFromText(const std::string& text);

// InvalidArgument: these are no shares of a step of so many places.
absl::Status CheckSeedShares(const SeedShares& shares, uint64_t num_places);
// FailedPrecondition, naming both keys and the way out: the shares are of
// another book than the dataset's, which has the key `book`.
absl::Status CheckSameBook(const SeedShares& shares, uint64_t book,
                           const std::string& dataset);

// Returns the fine part of each train vertex. InvalidArgument, naming file and
// element: an id is no vertex of the dataset.
absl::StatusOr<std::vector<uint8_t>> PartsOfTrain(const PartitionBook& book,
                                                  const Dataset& dataset);
// Returns how many train vertices each share has. train_of_parts [kFineParts].
std::vector<uint64_t> TrainOfShares(const SeedShares& shares,
                                    absl::Span<const uint64_t> train_of_parts);

// A batch of an epoch, among those of its share.
struct ShareBatch {
  uint32_t share = 0;
  uint64_t number = 0;  // Number of the share's batches before it.

  friend bool operator==(const ShareBatch&, const ShareBatch&) = default;
};
ShareBatch ShareBatchOf(const SeedShares& shares, uint64_t batch);

// Returns the number of batches of an epoch: until each share has had all of
// its train vertices. train_of_shares: one number for each share.
uint64_t OwnBatchesPerEpoch(const SeedShares& shares,
                            absl::Span<const uint64_t> train_of_shares,
                            uint32_t batch_size);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_SEED_SHARES_H_
