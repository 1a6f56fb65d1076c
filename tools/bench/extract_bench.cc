#include "tools/bench/extract_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/base/permutation.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/features/cpu/feature_cache.h"

namespace fgnn {
namespace {

struct Rows {
  std::vector<GlobalId> nodes;
  std::vector<uint32_t> ranks;
};

absl::Status CheckOptions(const ExtractBenchOptions& options,
                          uint64_t num_rows) {
  const auto refuse = [](auto... words) {
    return absl::InvalidArgumentError(absl::StrCat(words...));
  };
  if (options.batch_rows == 0 || options.batch_rows > num_rows) {
    return refuse("--batch-rows ", options.batch_rows,
                  ": a batch's rows are all different, and there are ",
                  num_rows);
  }
  if (options.capacity > num_rows) {
    return refuse("--capacity ", options.capacity, ": there are ", num_rows,
                  " rows");
  }
  return absl::OkStatus();
}

// Draws batches, and says which vertex has which hot rank.
class RowDraw {
 public:
  static absl::StatusOr<RowDraw> Create(const ExtractBenchOptions& options,
                                        uint64_t num_rows) {
    FGNN_RETURN_IF_ERROR(CheckOptions(options, num_rows));
    RowDraw draw(options, num_rows);
    if (!options.hit_rate.has_value()) return draw;
    draw.hits_ = static_cast<uint64_t>(std::llround(
        *options.hit_rate * static_cast<double>(options.batch_rows)));
    const uint64_t misses = options.batch_rows - draw.hits_;
    if (draw.hits_ <= options.capacity &&
        misses <= num_rows - options.capacity) {
      return draw;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "--hit-rate ", *options.hit_rate, ": a batch would have ", draw.hits_,
        " rows of a table of ", options.capacity, " and ", misses,
        " of the other ", num_rows - options.capacity,
        "; change --capacity or --batch-rows"));
  }

  GlobalId NodeOfRank(uint64_t rank) const {
    return static_cast<GlobalId>(node_of_rank_(rank));
  }

  // Hits and misses in any order.
  Rows Draw(uint64_t batch) const {
    Rows rows;
    rows.nodes.resize(batch_rows_);
    rows.ranks.resize(batch_rows_);
    const KeyedPermutation place(batch_rows_, Key(batch, 1));
    const auto put = [&](uint64_t i, uint64_t rank) {
      const uint64_t at = place(i);
      rows.ranks[at] = static_cast<uint32_t>(rank);
      rows.nodes[at] = NodeOfRank(rank);
    };
    if (hits_ > 0) {
      const KeyedPermutation hot(hot_rows_, Key(batch, 2));
      for (uint64_t i = 0; i < hits_; ++i) put(i, hot(i));
    }
    if (hits_ < batch_rows_) {
      const KeyedPermutation cold(num_rows_ - hot_rows_, Key(batch, 3));
      for (uint64_t i = hits_; i < batch_rows_; ++i) {
        put(i, hot_rows_ + cold(i - hits_));
      }
    }
    return rows;
  }

 private:
  RowDraw(const ExtractBenchOptions& options, uint64_t num_rows)
      : seed_(options.seed),
        num_rows_(num_rows),
        batch_rows_(options.batch_rows),
        hot_rows_(options.hit_rate.has_value() ? options.capacity : 0),
        node_of_rank_(num_rows, Key(0, 0)) {}

  PhiloxKey Key(uint64_t batch, uint32_t use) const {
    return MakePhiloxKey(seed_, 0, batch, use, Purpose::kGenerateDataset);
  }

  uint64_t seed_;
  uint64_t num_rows_;
  uint64_t batch_rows_;
  uint64_t hot_rows_;  // Drawn from apart from the others.
  uint64_t hits_ = 0;
  KeyedPermutation node_of_rank_;
};

// What one would write by hand.
absl::Status PlainCopy(const FeatureStore& store, const Rows& rows, float* out,
                       ThreadTeam& team) {
  constexpr size_t kAhead = 8;
  const std::byte* const data = store.data();
  const uint64_t columns = store.num_columns();
  const uint64_t row_bytes = store.row_bytes();
  const size_t count = rows.nodes.size();
  const auto parts = static_cast<size_t>(team.size());
  return team.Run(team.size(), [&](int64_t part, int) {
    const size_t first = count * static_cast<size_t>(part) / parts;
    const size_t last = count * (static_cast<size_t>(part) + 1) / parts;
    for (size_t i = first; i < last; ++i) {
      if (i + kAhead < last) {
        const std::byte* const ahead =
            data + rows.nodes[i + kAhead] * row_bytes;
        for (uint64_t at = 0; at < row_bytes; at += 64) {
          __builtin_prefetch(ahead + at);
        }
      }
      WidenToFloats(store.type(), data + rows.nodes[i] * row_bytes, columns,
                    out + i * columns);
    }
  });
}

// One way to extract a batch, timed over rounds.
struct Contender {
  std::function<absl::Status(const Rows& rows, float* out)> extract;
  std::vector<float> out;
  double fastest = std::numeric_limits<double>::infinity();
  uint64_t reads = 0;  // Of the fastest round.

  // The first half is not timed: it leaves the caches as this contender does,
  // not as the one before.
  absl::Status RunRound(absl::Span<const Rows> batches,
                        const ExtractBenchOptions& options) {
    Stopwatch watch;
    uint64_t reads_before = 0;
    for (size_t b = 0; b < batches.size(); ++b) {
      if (b == batches.size() / 2) {
        if (options.num_reads) reads_before = options.num_reads();
        watch.Restart();
      }
      FGNN_RETURN_IF_ERROR(extract(batches[b], out.data()));
    }
    const double seconds = watch.Seconds();
    if (seconds >= fastest) return absl::OkStatus();
    fastest = seconds;
    if (options.num_reads) reads = options.num_reads() - reads_before;
    return absl::OkStatus();
  }
};

// Every round another contender begins. The last batch's rows are compared.
absl::Status RunRounds(const ExtractBenchOptions& options, const RowDraw& draw,
                       std::vector<Contender>& contenders) {
  std::vector<Rows> batches(2 * size_t{options.batches});
  for (uint32_t round = 0; round < options.rounds; ++round) {
    for (size_t b = 0; b < batches.size(); ++b) {
      batches[b] = draw.Draw(round * batches.size() + b);
    }
    for (size_t turn = 0; turn < contenders.size(); ++turn) {
      FGNN_RETURN_IF_ERROR(
          contenders[(round + turn) % contenders.size()].RunRound(batches,
                                                                  options));
    }
    for (const Contender& contender : contenders) {
      if (std::memcmp(contender.out.data(), contenders[0].out.data(),
                      contender.out.size() * sizeof(float)) != 0) {
        return absl::InternalError(
            "rows that were extracted differ from those that were copied");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ExtractBenchResult> RunExtractBench(
    const FeatureStore& store, const ExtractBenchOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const RowDraw draw,
                        RowDraw::Create(options, store.num_rows()));
  ThreadTeam team(static_cast<int>(options.threads));
  std::vector<GlobalId> hottest(options.capacity);
  for (uint64_t r = 0; r < hottest.size(); ++r) hottest[r] = draw.NodeOfRank(r);
  FGNN_ASSIGN_OR_RETURN(const FeatureCache cache,
                        FeatureCache::Load(&store, hottest, team));

  uint64_t hits = 0;
  std::vector<Contender> contenders;
  const auto add = [&](auto extract) {
    contenders.emplace_back().extract = extract;
  };
  add([&](const Rows& rows, float* out) -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(const uint64_t found,
                          cache.Extract(rows.nodes, rows.ranks, out, team));
    hits += found;
    return absl::OkStatus();
  });
  if (store.data() != nullptr) {
    add([&](const Rows& rows, float* out) {
      return PlainCopy(store, rows, out, team);
    });
  }
  if (options.capacity > 0) {
    add([&](const Rows& rows, float* out) {
      return store.Extract(rows.nodes, out, team);
    });
  }
  for (Contender& contender : contenders) {
    contender.out.resize(options.batch_rows * store.num_columns());
  }
  FGNN_RETURN_IF_ERROR(RunRounds(options, draw, contenders));

  ExtractBenchResult result;
  result.rows = options.batch_rows * options.batches;
  result.bytes = result.rows * store.row_bytes();
  result.hit_rate = static_cast<double>(hits) /
                    static_cast<double>(result.rows * 2 * options.rounds);
  result.seconds = contenders[0].fastest;
  if (options.num_reads) result.reads = contenders[0].reads;
  if (store.data() != nullptr) result.copy_seconds = contenders[1].fastest;
  if (options.capacity > 0) {
    result.uncached_seconds = contenders.back().fastest;
  }
  return result;
}

}  // namespace fgnn
