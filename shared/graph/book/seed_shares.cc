#include "shared/graph/book/seed_shares.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "shared/base/status.h"
#include "shared/minibatch/batches_per_epoch.h"

namespace fgnn {
namespace {

// Shares the fine parts out to the hosts with these indices, in order.
void ShareOut(const std::vector<uint32_t>& parts,
              const std::vector<uint8_t>& hosts, SeedShares& shares) {
  for (size_t i = 0; i < parts.size(); ++i) {
    shares.share_of_part[parts[i]] =
        hosts[((i + 1) * hosts.size() - 1) / parts.size()];
  }
}

}  // namespace

SeedShares MakeSeedShares(uint64_t book, absl::Span<const HostOfShare> hosts) {
  SeedShares shares = {.book = book};
  std::vector<uint8_t> with_places;
  std::vector<uint8_t> whole;
  for (size_t host = 0; host < hosts.size(); ++host) {
    shares.places.push_back(hosts[host].num_places);
    if (hosts[host].num_places == 0) continue;
    with_places.push_back(static_cast<uint8_t>(host));
    if (hosts[host].rows.is_whole()) whole.push_back(with_places.back());
  }
  std::vector<uint32_t> without_owner;
  for (uint32_t part = 0; part < kFineParts; ++part) {
    const auto owner =
        std::find_if(with_places.begin(), with_places.end(), [&](uint8_t host) {
          const HostRows& rows = hosts[host].rows;
          return !rows.is_whole() &&
                 OwnerOfPart(part, rows.owners) == rows.owner;
        });
    if (owner != with_places.end()) {
      shares.share_of_part[part] = *owner;
    } else {
      without_owner.push_back(part);
    }
  }
  ShareOut(without_owner, whole.empty() ? with_places : whole, shares);
  return shares;
}

std::string ToText(const SeedShares& shares) {
  return absl::StrCat(absl::Hex(shares.book, absl::kZeroPad16), " ",
                      absl::StrJoin(shares.places, ","), " ",
                      absl::StrJoin(shares.share_of_part, ","));
}

std::optional<SeedShares> SeedSharesFromText(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  if (words.size() != 3) return std::nullopt;
  SeedShares shares;
  if (!absl::SimpleHexAtoi(words[0], &shares.book)) return std::nullopt;
  for (const absl::string_view number : absl::StrSplit(words[1], ',')) {
    if (!absl::SimpleAtoi(number, &shares.places.emplace_back())) {
      return std::nullopt;
    }
  }
  const std::vector<std::string> parts = absl::StrSplit(words[2], ',');
  if (parts.size() != kFineParts) return std::nullopt;
  for (uint32_t part = 0; part < kFineParts; ++part) {
    uint32_t share = 0;
    if (!absl::SimpleAtoi(parts[part], &share) ||
        share >= shares.places.size()) {
      return std::nullopt;
    }
    shares.share_of_part[part] = static_cast<uint8_t>(share);
  }
  return shares;
}

absl::Status CheckSeedShares(const SeedShares& shares, uint64_t num_places) {
  uint64_t left = num_places;
  bool fit = true;
  for (const uint64_t places : shares.places) {
    fit = fit && places <= left;
    left -= std::min(places, left);
  }
  if (!fit || left > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.seeds own: the run began with shares of [",
                     absl::StrJoin(shares.places, ", "),
                     "] batches of a step, but training.batches_per_step is ",
                     num_places, "; set it back, or start a new run"));
  }
  for (const uint8_t share : shares.share_of_part) {
    if (share < shares.places.size() && shares.places[share] > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("training.seeds own: a fine part is of share ", share,
                     ", which has no places"));
  }
  return absl::OkStatus();
}

absl::Status CheckSameBook(const SeedShares& shares, uint64_t book,
                           const std::string& dataset) {
  if (shares.book == book) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "training.seeds own: the run began with the partition book ",
      absl::Hex(shares.book, absl::kZeroPad16), ", but ", dataset, " has ",
      absl::Hex(book, absl::kZeroPad16),
      "; make the book again as it was with 'fgnn dataset partition ", dataset,
      "', or start a new run"));
}

absl::StatusOr<std::vector<uint8_t>> PartsOfTrain(const PartitionBook& book,
                                                  const Dataset& dataset) {
  const absl::Span<const int64_t> train = dataset.train();
  std::vector<uint8_t> parts(train.size());
  for (size_t row = 0; row < train.size(); ++row) {
    FGNN_ASSIGN_OR_RETURN(
        const GlobalId v,
        ReadSplit(dataset.graph().places, train, row, book.num_nodes()));
    parts[row] = static_cast<uint8_t>(book.PartOf(v));
  }
  return parts;
}

std::vector<uint64_t> TrainOfShares(const SeedShares& shares,
                                    absl::Span<const uint64_t> train_of_parts) {
  std::vector<uint64_t> counts(shares.places.size());
  for (uint32_t part = 0; part < kFineParts; ++part) {
    counts[shares.share_of_part[part]] += train_of_parts[part];
  }
  return counts;
}

ShareBatch ShareBatchOf(const SeedShares& shares, uint64_t batch) {
  const uint64_t step_places =
      std::accumulate(shares.places.begin(), shares.places.end(), uint64_t{0});
  uint64_t place = batch % step_places;
  uint32_t share = 0;
  while (place >= shares.places[share]) place -= shares.places[share++];
  return {.share = share,
          .number = batch / step_places * shares.places[share] + place};
}

uint64_t OwnBatchesPerEpoch(const SeedShares& shares,
                            absl::Span<const uint64_t> train_of_shares,
                            uint32_t batch_size) {
  const uint64_t step_places =
      std::accumulate(shares.places.begin(), shares.places.end(), uint64_t{0});
  uint64_t batches = 0;
  uint64_t first_place = 0;
  for (size_t share = 0; share < shares.places.size(); ++share) {
    const uint64_t places = shares.places[share];
    const uint64_t own = BatchesPerEpoch(train_of_shares[share], batch_size);
    if (places > 0 && own > 0) {
      const uint64_t last = own - 1;
      batches = std::max(batches, last / places * step_places + first_place +
                                      last % places + 1);
    }
    first_place += places;
  }
  return batches;
}

}  // namespace fgnn
