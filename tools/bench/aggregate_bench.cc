#include "tools/bench/aggregate_bench.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "tools/bench/row_rounds.h"
#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cpu/feature_cache.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"

namespace fgnn {
namespace {

// Rows of a task, as layers of f32 divide their work.
constexpr uint64_t kRowsPerTask = 256;

struct BlockSize {
  uint64_t sources = 0;
  uint64_t destinations = 0;
  uint64_t edges = 0;
};

absl::StatusOr<BlockSize> SizeOf(const AggregateBenchOptions& options) {
  const uint64_t sources = options.rows.batch_rows;
  const double edges = options.edges_per_row * static_cast<double>(sources);
  const uint64_t destinations = (sources + 1) / 2;
  if (!(edges >= static_cast<double>(sources - destinations) &&
        edges < 0x1.0p32)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--edges-per-row ", options.edges_per_row, ": a block of ", sources,
        " sources and ", destinations, " destinations has ",
        sources - destinations, " edges or more, and fewer than 2^32"));
  }
  return BlockSize{sources, destinations, static_cast<uint64_t>(edges)};
}

// Draws a block in which the sources that are no destinations are found by
// edges at even distances.
void DrawBlock(const BlockSize& size, const PhiloxKey& key, RowBatch& batch) {
  batch.indptr.resize(size.destinations + 1);
  for (uint64_t d = 0; d <= size.destinations; ++d) {
    batch.indptr[d] = static_cast<uint32_t>(d * size.edges / size.destinations);
  }
  batch.indices.resize(size.edges);
  const uint64_t to_find = size.sources - size.destinations;
  uint64_t found = 0;
  for (uint64_t e = 0; e < size.edges; ++e) {
    const uint64_t known = size.destinations + found;
    if (found < (e + 1) * to_find / size.edges) {
      batch.indices[e] = static_cast<uint32_t>(known);
      ++found;
      continue;
    }
    const PhiloxBlock random =
        Philox4x32({static_cast<uint32_t>(e), 0, 0, 0}, key);
    batch.indices[e] =
        static_cast<uint32_t>((uint64_t{random.words[0]} * known) >> 32);
  }
}

// Both ways, with what each keeps from batch to batch.
class FirstLayer {
 public:
  FirstLayer(const FeatureStore& store, const FeatureCache& cache,
             const BlockSize& size, ThreadTeam& team)
      : type_(store.type()),
        columns_(store.num_columns()),
        cache_(cache),
        size_(size),
        team_(team),
        features_(features_buffer_.Reserve(size.sources * columns_)),
        own_(own_buffer_.Reserve(size.destinations * columns_)),
        rows_(size.sources) {}

  absl::Status ExtractFirst(const RowBatch& batch, float* means) {
    FGNN_RETURN_IF_ERROR(
        cache_.Extract(batch.nodes, batch.ranks, features_, team_).status());
    return ForTasks([&](uint64_t first, uint64_t last) {
      MeanOfLists(ListsOf(batch), static_cast<int64_t>(first),
                  static_cast<int64_t>(last), features_,
                  static_cast<int64_t>(columns_), means + first * columns_);
    });
  }

  absl::Status InPlace(const RowBatch& batch, float* means) {
    FGNN_ASSIGN_OR_RETURN(const uint64_t hits,
                          cache_.Find(batch.nodes, batch.ranks, rows_.data()));
    hits_ += hits;
    const StoredRows rows = {rows_, type_};
    return ForTasks([&](uint64_t first, uint64_t last) {
      GatherRows(
          type_, columns_, last - first,
          [&](size_t i) { return rows_[first + i]; }, own_ + first * columns_);
      MeanOfLists(ListsOf(batch), static_cast<int64_t>(first),
                  static_cast<int64_t>(last), rows,
                  static_cast<int64_t>(columns_), means + first * columns_);
    });
  }

  uint64_t hits() const { return hits_; }

 private:
  static RowLists ListsOf(const RowBatch& batch) {
    return {batch.indptr.data(), batch.indices.data()};
  }

  template <typename Task>
  absl::Status ForTasks(Task run) {
    const uint64_t num_tasks =
        (size_.destinations + kRowsPerTask - 1) / kRowsPerTask;
    return team_.Run(static_cast<int64_t>(num_tasks), [&](int64_t task, int) {
      const uint64_t first = static_cast<uint64_t>(task) * kRowsPerTask;
      run(first, std::min(first + kRowsPerTask, size_.destinations));
    });
  }

  const FeatureType type_;
  const uint64_t columns_;
  const FeatureCache& cache_;
  const BlockSize size_;
  ThreadTeam& team_;
  Scratch<float> features_buffer_;
  Scratch<float> own_buffer_;
  float* const features_;               // [sources, columns]
  float* const own_;                    // [destinations, columns]
  std::vector<const std::byte*> rows_;  // [sources]
  uint64_t hits_ = 0;
};

// Returns the results of a round, without the hits.
AggregateBenchResult ResultOf(const FeatureStore& store, const BlockSize& size,
                              uint64_t batches,
                              const std::vector<Contender>& contenders) {
  AggregateBenchResult result;
  result.rows = size.sources * batches;
  result.destinations = size.destinations * batches;
  result.edges = size.edges * batches;
  result.extract_first.seconds = contenders[0].fastest;
  result.in_place.seconds = contenders[1].fastest;
  const uint64_t row_bytes = store.row_bytes();
  const uint64_t float_bytes = store.num_columns() * sizeof(float);
  const uint64_t means = result.destinations * float_bytes;
  result.extract_first.bytes = result.rows * (row_bytes + float_bytes) +
                               result.edges * float_bytes + means;
  result.in_place.bytes =
      result.rows * sizeof(void*) + result.edges * (row_bytes + sizeof(void*)) +
      result.destinations * (row_bytes + float_bytes) + means;
  return result;
}

}  // namespace

absl::StatusOr<AggregateBenchResult> RunAggregateBench(
    const FeatureStore& store, const AggregateBenchOptions& options) {
  if (store.data() == nullptr) {
    return absl::InvalidArgumentError(
        "--edges-per-row: rows are aggregated where they lie in memory; leave "
        "out --store disk");
  }
  FGNN_ASSIGN_OR_RETURN(const BlockSize size, SizeOf(options));
  FGNN_ASSIGN_OR_RETURN(const RowDraw draw,
                        RowDraw::Create(options.rows, store.num_rows()));
  ThreadTeam team(static_cast<int>(options.rows.threads));
  FGNN_ASSIGN_OR_RETURN(
      const FeatureCache cache,
      FeatureCache::Load(&store, draw.Hottest(options.rows.capacity), team));
  FirstLayer layer(store, cache, size, team);
  std::vector<Contender> contenders(2);
  contenders[0].run = [&layer](const RowBatch& batch, float* means) {
    return layer.ExtractFirst(batch, means);
  };
  contenders[1].run = [&layer](const RowBatch& batch, float* means) {
    return layer.InPlace(batch, means);
  };
  for (Contender& contender : contenders) {
    contender.out.resize(size.destinations * store.num_columns());
  }
  const auto draw_batch = [&](uint64_t number) {
    RowBatch batch = draw.Draw(number);
    DrawBlock(size,
              MakePhiloxKey(options.rows.seed, 1, number, 0,
                            Purpose::kGenerateDataset),
              batch);
    return batch;
  };
  FGNN_RETURN_IF_ERROR(RunRounds(options.rows, draw_batch, contenders));

  AggregateBenchResult result =
      ResultOf(store, size, options.rows.batches, contenders);
  result.hit_rate = static_cast<double>(layer.hits()) /
                    static_cast<double>(result.rows * 2 * options.rows.rounds);
  return result;
}

}  // namespace fgnn
