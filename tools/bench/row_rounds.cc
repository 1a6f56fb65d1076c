#include "tools/bench/row_rounds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

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

// NaN has many bit patterns, which all count as equal.
bool IsSame(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

}  // namespace

RowDraw::RowDraw(const ExtractBenchOptions& options, uint64_t num_rows)
    : seed_(options.seed),
      num_rows_(num_rows),
      batch_rows_(options.batch_rows),
      hot_rows_(options.hit_rate.has_value() ? options.capacity : 0),
      node_of_rank_(num_rows, Key(0, 0)) {}

absl::StatusOr<RowDraw> RowDraw::Create(const ExtractBenchOptions& options,
                                        uint64_t num_rows) {
  FGNN_RETURN_IF_ERROR(CheckOptions(options, num_rows));
  RowDraw draw(options, num_rows);
  if (!options.hit_rate.has_value()) return draw;
  draw.hits_ = static_cast<uint64_t>(std::llround(
      *options.hit_rate * static_cast<double>(options.batch_rows)));
  const uint64_t misses = options.batch_rows - draw.hits_;
  if (draw.hits_ <= options.capacity && misses <= num_rows - options.capacity) {
    return draw;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--hit-rate ", *options.hit_rate, ": a batch would have ", draw.hits_,
      " rows of a table of ", options.capacity, " and ", misses,
      " of the other ", num_rows - options.capacity,
      "; change --capacity or --batch-rows"));
}

std::vector<GlobalId> RowDraw::Hottest(uint64_t count) const {
  std::vector<GlobalId> hottest(count);
  for (uint64_t r = 0; r < count; ++r) {
    hottest[r] = static_cast<GlobalId>(node_of_rank_(r));
  }
  return hottest;
}

RowBatch RowDraw::Draw(uint64_t batch) const {
  RowBatch rows;
  rows.nodes.resize(batch_rows_);
  rows.ranks.resize(batch_rows_);
  const KeyedPermutation place(batch_rows_, Key(batch, 1));
  const auto put = [&](uint64_t i, uint64_t rank) {
    const uint64_t at = place(i);
    rows.ranks[at] = static_cast<uint32_t>(rank);
    rows.nodes[at] = static_cast<GlobalId>(node_of_rank_(rank));
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

absl::Status Contender::RunRound(absl::Span<const RowBatch> batches,
                                 const ExtractBenchOptions& options) {
  Stopwatch watch;
  uint64_t reads_before = 0;
  for (size_t b = 0; b < batches.size(); ++b) {
    if (b == batches.size() / 2) {
      if (options.num_reads) reads_before = options.num_reads();
      watch.Restart();
    }
    FGNN_RETURN_IF_ERROR(run(batches[b], out.data()));
  }
  const double seconds = watch.Seconds();
  if (seconds >= fastest) return absl::OkStatus();
  fastest = seconds;
  if (options.num_reads) reads = options.num_reads() - reads_before;
  return absl::OkStatus();
}

absl::Status RunRounds(const ExtractBenchOptions& options,
                       absl::FunctionRef<RowBatch(uint64_t batch)> draw,
                       std::vector<Contender>& contenders) {
  std::vector<RowBatch> batches(2 * size_t{options.batches});
  for (uint32_t round = 0; round < options.rounds; ++round) {
    for (size_t b = 0; b < batches.size(); ++b) {
      batches[b] = draw(round * batches.size() + b);
    }
    for (size_t turn = 0; turn < contenders.size(); ++turn) {
      FGNN_RETURN_IF_ERROR(
          contenders[(round + turn) % contenders.size()].RunRound(batches,
                                                                  options));
    }
    for (const Contender& contender : contenders) {
      if (!std::equal(contender.out.begin(), contender.out.end(),
                      contenders[0].out.begin(), IsSame)) {
        return absl::InternalError(
            "contenders differ in the rows that they made of one batch");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace fgnn
