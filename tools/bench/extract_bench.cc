#include "tools/bench/extract_bench.h"

#include <vector>

#include "shared/base/status.h"
#include "tools/bench/row_rounds.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/features/cpu/feature_cache.h"

namespace fgnn {
namespace {

// The loop that one would write by hand.
absl::Status PlainCopy(const FeatureStore& store, const RowBatch& rows,
                       float* out, ThreadTeam& team) {
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

}  // namespace

absl::StatusOr<ExtractBenchResult> RunExtractBench(
    const FeatureStore& store, const ExtractBenchOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const RowDraw draw,
                        RowDraw::Create(options, store.num_rows()));
  ThreadTeam team(static_cast<int>(options.threads));
  FGNN_ASSIGN_OR_RETURN(
      const FeatureCache cache,
      FeatureCache::Load(&store, draw.Hottest(options.capacity), team));

  uint64_t hits = 0;
  std::vector<Contender> contenders;
  const auto add = [&](auto extract) {
    contenders.emplace_back().run = extract;
  };
  add([&](const RowBatch& rows, float* out) -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(const uint64_t found,
                          cache.Extract(rows.nodes, rows.ranks, out, team));
    hits += found;
    return absl::OkStatus();
  });
  if (store.data() != nullptr) {
    add([&](const RowBatch& rows, float* out) {
      return PlainCopy(store, rows, out, team);
    });
  }
  if (options.capacity > 0) {
    add([&](const RowBatch& rows, float* out) {
      return store.Extract(rows.nodes, out, team);
    });
  }
  for (Contender& contender : contenders) {
    contender.out.resize(options.batch_rows * store.num_columns());
  }
  FGNN_RETURN_IF_ERROR(RunRounds(
      options, [&](uint64_t batch) { return draw.Draw(batch); }, contenders));

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
