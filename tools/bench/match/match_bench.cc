#include "tools/bench/match/match_bench.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/scratch_block.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/base/threads/thread.h"
#include "tools/bench/hot_ranks.h"

namespace fgnn {
namespace {

std::vector<BatchRows> MissesOf(absl::Span<const BatchRows> batches,
                                const MatchCountOptions& options) {
  std::vector<BatchRows> misses(batches.size());
  for (size_t i = 0; i < batches.size(); ++i) {
    std::copy_if(
        batches[i].begin(), batches[i].end(), std::back_inserter(misses[i]),
        [&](GlobalId v) { return options.ranks[v] >= options.cached; });
  }
  return misses;
}

BatchSequence SequenceOf(absl::Span<const BatchRows> batches,
                         absl::Span<const size_t> numbers) {
  BatchSequence sequence;
  for (const size_t number : numbers) sequence.push_back(&batches[number]);
  return sequence;
}

uint64_t RowsOf(const BatchSequence& batches) {
  uint64_t rows = 0;
  for (const BatchRows* batch : batches) rows += batch->size();
  return rows;
}

// Returns, for each kKeptBatches, the rows that are not among those of so many
// batches before.
std::array<uint64_t, kKeptBatches.size()> LoadedOf(const BatchSequence& batches,
                                                   uint64_t num_nodes) {
  std::array<uint64_t, kKeptBatches.size()> loaded = {};
  std::vector<size_t> last(num_nodes);  // 1 + the last batch; 0: none.
  for (size_t i = 0; i < batches.size(); ++i) {
    for (const GlobalId v : *batches[i]) {
      const size_t before = std::exchange(last[v], i + 1);
      for (size_t k = 0; k < kKeptBatches.size(); ++k) {
        if (before == 0 || i + 1 - before > kKeptBatches[k]) ++loaded[k];
      }
    }
  }
  return loaded;
}

// Adds up shares. Thread-compatible.
class Shares {
 public:
  void Add(double share) {
    sum_ += share;
    ++count_;
    smallest_ = std::min(smallest_, share);
    largest_ = std::max(largest_, share);
  }
  // They are 0 without any share.
  double mean() const {
    return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
  }
  double smallest() const { return count_ == 0 ? 0 : smallest_; }
  double largest() const { return largest_; }

 private:
  double sum_ = 0;
  uint64_t count_ = 0;
  double smallest_ = 1;
  double largest_ = 0;
};

// Finds match degrees, the mean match and the headroom.
void CompareBatches(absl::Span<const BatchRows> batches,
                    const MatchedOrderOptions& order, WindowOverlap* counter,
                    MatchCounts* counts) {
  const auto share = [](uint64_t shared, uint64_t rows) {
    return rows == 0 ? 0
                     : static_cast<double>(shared) / static_cast<double>(rows);
  };
  Shares degrees;
  Shares matches;
  for (const BatchRange& window : WindowsOf(batches.size(), order)) {
    const OverlapMatrix overlap = OverlapOf(
        batches.subspan(window.begin.value(), window.size()), counter);
    for (uint32_t a = 0; a < overlap.size(); ++a) {
      for (uint32_t b = a + 1; b < overlap.size(); ++b) {
        const uint64_t shared = overlap.Shared(a, b);
        const uint64_t of_a = overlap.Shared(a, a);
        const uint64_t of_b = overlap.Shared(b, b);
        degrees.Add(share(shared, std::min(of_a, of_b)));
        matches.Add(share(shared, of_a));
        matches.Add(share(shared, of_b));
      }
    }
  }
  counts->mean_degree = degrees.mean();
  counts->degree_spread = degrees.largest() - degrees.smallest();
  counts->mean_match = matches.mean();
  if (counts->mean_match < 1) {
    counts->headroom =
        (matches.largest() - counts->mean_match) / (1 - counts->mean_match);
  }
}

// Returns the numbers of each trainer's batches of the first `count`, as drawn.
std::vector<std::vector<size_t>> DealAsDrawn(size_t count,
                                             const MatchedOrderOptions& order) {
  std::vector<size_t> as_drawn(count);
  std::iota(as_drawn.begin(), as_drawn.end(), 0);
  return DealToTrainers(as_drawn, order);
}

// Samples batches 0 .. count-1, in several threads, and keeps their input
// nodes.
class InputNodes {
 public:
  InputNodes(const SamplerInput& input, const SamplerOptions& sampling,
             uint32_t threads)
      : input_(input),
        sampling_(sampling),
        threads_(threads),
        bound_task_bytes_(MaxTaskBytesOf(input.graph, sampling)) {}

  absl::StatusOr<std::vector<BatchRows>> Of(size_t count) {
    std::vector<BatchRows> batches(count);
    FirstError error;
    {
      std::vector<Thread> threads;
      for (uint32_t t = 0; t < threads_; ++t) {
        threads.emplace_back(absl::StrCat("fgnn-match-", t), [&] {
          error.Note(SampleInThread(absl::MakeSpan(batches)));
          if (error.any()) next_ = count;
        });
      }
    }
    FGNN_RETURN_IF_ERROR(error.status());
    return batches;
  }

 private:
  absl::Status SampleInThread(absl::Span<BatchRows> batches) {
    FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Sampler> sampler,
                          NewCpuSampler(input_, sampling_));
    ScratchBlock block(bound_task_bytes_);
    for (size_t i = next_++; i < batches.size(); i = next_++) {
      FGNN_RETURN_IF_ERROR(block.Sample(*sampler, BatchSeq(i)).status());
      const absl::Span<const GlobalId> nodes = InputNodesOf(block.bytes());
      batches[i].assign(nodes.begin(), nodes.end());
    }
    return absl::OkStatus();
  }

  const SamplerInput& input_;
  const SamplerOptions& sampling_;
  const uint32_t threads_;
  const uint64_t bound_task_bytes_;
  std::atomic<size_t> next_ = 0;  // Number of the next batch.
};

absl::Status ValidateFlags(const MatchBenchOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckCacheShares("--cache", options.caches));
  for (const uint32_t dependency : options.dependencies) {
    if (dependency < 1 || dependency > kMaxBatchDependency) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dependency holds ", dependency, "; give 1 to ",
                       kMaxBatchDependency, " batches"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

RowCounts& RowCounts::operator+=(const RowCounts& other) {
  const auto add = [](auto* sums, const auto& terms) {
    for (size_t i = 0; i < terms.size(); ++i) (*sums)[i] += terms[i];
  };
  input_nodes += other.input_nodes;
  missed += other.missed;
  add(&kept, other.kept);
  greedy += other.greedy;
  add(&belady_hits, other.belady_hits);
  return *this;
}

MatchCounts CountMatches(absl::Span<const BatchRows> batches,
                         const MatchCountOptions& options,
                         WindowOverlap* counter) {
  const uint64_t num_nodes = options.ranks.size();
  const MatchedOrderOptions& order = options.order;
  const auto measured = batches.first(options.num_batches);
  const std::vector<BatchRows> misses = MissesOf(measured, options);
  const auto drawn = DealAsDrawn(measured.size(), order);
  const auto known = DealAsDrawn(batches.size(), order);
  const auto matched =
      DealToTrainers(MatchedBatches(measured, order, counter), order);
  MatchCounts counts;
  for (size_t t = 0; t < drawn.size(); ++t) {
    const BatchSequence missed = SequenceOf(misses, drawn[t]);
    RowCounts rows = {
        .input_nodes = RowsOf(SequenceOf(measured, drawn[t])),
        .missed = RowsOf(missed),
        .kept = LoadedOf(missed, num_nodes),
        .greedy = LoadedOf(SequenceOf(misses, matched[t]), num_nodes).front()};
    const FutureRows future =
        LookAhead(SequenceOf(batches, known[t]), num_nodes);
    for (size_t k = 0; k < kKnownBatches.size(); ++k) {
      rows.belady_hits[k] =
          BeladyHits(future, {.ranks = options.ranks,
                              .num_rows = options.cached,
                              .num_batches = drawn[t].size(),
                              .num_ahead = kKnownBatches[k] / drawn.size()});
    }
    counts.all += rows;
    counts.trainers.push_back(rows);
  }
  CompareBatches(misses, order, counter, &counts);
  if (order.window <= kMostBestWindow && order.chains == 1) {
    counts.best = counts.all.missed - MostMatched(misses, order, counter);
  }
  return counts;
}

absl::StatusOr<MatchBenchResult> RunMatchBench(
    const SamplerInput& input, const MatchBenchOptions& options) {
  FGNN_RETURN_IF_ERROR(ValidateFlags(options));
  FGNN_RETURN_IF_ERROR(Validate(input, options.sampling));
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> ranks,
                        PrescRanks(input, options.sampling, options.threads));
  FGNN_ASSIGN_OR_RETURN(WindowOverlap counter,
                        WindowOverlap::Create(ranks.size()));
  const MatchedOrderOptions order = {
      .batches_per_epoch = BatchesPerEpoch(NumExamples(input, options.sampling),
                                           options.sampling.batch_size),
      .window = options.window,
      .chains = options.trainers};
  MatchBenchResult result = {.num_nodes = ranks.size(), .cases = {}};
  for (const uint32_t dependency : options.dependencies) {
    SamplerOptions sampling = options.sampling;
    sampling.batch_dependency = dependency;
    FGNN_ASSIGN_OR_RETURN(const std::vector<BatchRows> batches,
                          InputNodes(input, sampling, options.threads)
                              .Of(options.batches + kKnownBatches.back()));
    for (const double cache : options.caches) {
      const MatchCountOptions counting = {
          .num_batches = options.batches,
          .order = order,
          .ranks = ranks,
          .cached =
              static_cast<uint64_t>(cache * static_cast<double>(ranks.size()))};
      result.cases.push_back(
          {dependency, cache, CountMatches(batches, counting, &counter)});
    }
  }
  return result;
}

}  // namespace fgnn
