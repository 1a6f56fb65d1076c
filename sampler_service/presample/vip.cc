#include "sampler_service/presample/vip.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/alias_tables.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/base/threads/thread.h"
#include "shared/device/memory.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

constexpr uint64_t kVerticesPerChunk = 4096;

// Scale of sums in fixed point. Unlike sums of floats, they do not depend on
// the order of the additions. Sums at the limit stay there.
constexpr double kOne = 0x1p40;
constexpr uint64_t kLimit = uint64_t{1} << 62;

uint64_t ToFixed(double value) {
  return value < static_cast<double>(kLimit) / kOne
             ? static_cast<uint64_t>(value * kOne)
             : kLimit;
}

double FromFixed(uint64_t sum) { return static_cast<double>(sum) / kOne; }

void Add(uint64_t value, uint64_t& sum) { sum = std::min(sum + value, kLimit); }

// Limit below which four terms of a series are within 1e-4 of the exact value,
// and many times as fast. Chances of most edges are that small.
constexpr double kSmall = 0.1;

// Returns 1 - exp(-x).
double OneMinusExp(double x) {
  return x < kSmall ? x * (1 - x * (1.0 / 2 - x * (1.0 / 6 - x / 24)))
                    : -std::expm1(-x);
}

// Returns -log(1 - chance), in fixed point.
uint64_t Avoidance(double chance) {
  if (chance < kSmall) {
    return ToFixed(chance *
                   (1 + chance * (1.0 / 2 + chance * (1.0 / 3 + chance / 4))));
  }
  return chance < 1 ? ToFixed(-std::log1p(-chance)) : kLimit;
}

double Chance(uint64_t avoidance) { return OneMinusExp(FromFixed(avoidance)); }

// Returns the chance that at least one of `count` tries succeeds, each with the
// chance `odds`.
double OddsOfAny(double odds, double count) {
  return odds < 1 ? -std::expm1(count * std::log1p(-odds)) : 1;
}

// Returns the time at which `count` of the places have been hit in the mean, if
// the time of each hit is Exponential(its weight). Infinite if no more than
// `count` places are ever hit.
double HitTime(absl::Span<const float> weights, double count) {
  double sum = 0;
  double squares = 0;
  double cubes = 0;
  float most = 0;
  size_t num_positive = 0;
  for (const float value : weights) {
    const auto weight = static_cast<double>(value);
    sum += weight;
    squares += weight * weight;
    cubes += weight * weight * weight;
    most = std::max(most, value);
    num_positive += value > 0 ? 1 : 0;
  }
  if (static_cast<double>(num_positive) <= count) {
    return std::numeric_limits<double>::infinity();
  }
  // Most steps of Newton's method. The hits are a concave function of time, so
  // steps from below stay below. Each step squares the error.
  constexpr int kMostSteps = 50;
  constexpr double kTolerance = 1e-2;
  double time = count / sum;
  // Where all places are hit rarely, three terms of the hits' series suffice.
  if (2 * time * static_cast<double>(most) < kSmall) {
    for (int step = 0; step < 3; ++step) {
      const double hits =
          time * (sum - time * (squares / 2 - time * cubes / 6));
      time += (count - hits) / (sum - time * (squares - time * cubes / 2));
    }
    return time;
  }
  for (int step = 0; step < kMostSteps; ++step) {
    double hits = 0;
    double rate = 0;
    for (const float weight : weights) {
      const double left = std::exp(-time * static_cast<double>(weight));
      hits += 1 - left;
      rate += static_cast<double>(weight) * left;
    }
    const double more = (count - hits) / rate;
    time += more;
    if (more < kTolerance * time) break;
  }
  return time;
}

// Returns the chance that a destination draws a certain place of its list in a
// hop.
double UniformOdds(double degree, int32_t fanout, bool replace) {
  if (fanout < 0) return 1;
  return replace ? OddsOfAny(1 / degree, fanout)
                 : std::min(1.0, fanout / degree);
}

class Propagation {
 public:
  static absl::StatusOr<Propagation> Create(const SamplerInput& input,
                                            const SamplerOptions& sampling,
                                            uint32_t num_threads) {
    Propagation result(input, sampling, std::max(num_threads, 1u));
    const uint64_t num_nodes = result.num_nodes_;
    bool has_memory = true;
    const auto allocate = [&](auto& table) {
      table = AllocateTable<std::decay_t<decltype(table[0])>>(num_nodes);
      has_memory = has_memory && table != nullptr;
    };
    for (auto& chances : result.chances_) allocate(chances);
    for (auto& part : result.parts_) allocate(part);
    for (auto& scales : result.scales_) allocate(scales);
    if (sampling.algorithm == SamplingAlgorithm::kRandomWalk) {
      allocate(result.walkers_);
      allocate(result.walked_);
    }
    if (has_memory) return result;
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory to compute what batches contain, of ",
                     num_nodes, " vertices in ", num_threads, " threads"));
  }

  absl::StatusOr<std::vector<float>> Run() {
    const auto num_train = static_cast<double>(input_.train.size());
    const double batches = std::max(1.0, num_train / sampling_.batch_size);
    for (size_t i = 0; i < input_.train.size(); ++i) {
      FGNN_ASSIGN_OR_RETURN(
          const GlobalId v,
          ReadSplit(input_.graph.places, input_.train, i, num_nodes_));
      chances_[0][v] = static_cast<float>(1 / batches);
    }
    for (size_t hop = 0; hop < sampling_.fanouts.size(); ++hop) {
      FGNN_RETURN_IF_ERROR(RunHop(hop));
    }
    const TableMemory<float>& last = chances_.back();
    std::vector<float> hotness(num_nodes_);
    for (size_t v = 0; v < hotness.size(); ++v) {
      hotness[v] = static_cast<float>(batches) * last[v];
    }
    return hotness;
  }

 private:
  Propagation(const SamplerInput& input, const SamplerOptions& sampling,
              uint32_t num_threads)
      : input_(input),
        sampling_(sampling),
        num_nodes_(input.graph.num_nodes()),
        chances_(sampling.fanouts.size() + 1),
        scales_(sampling.algorithm == SamplingAlgorithm::kWeighted
                    ? sampling.fanouts.size()
                    : 0),
        parts_(num_threads) {}

  // Returns the chance that edges are drawn for v in this hop.
  double DrawnFor(uint64_t v, size_t hop) const {
    const double chance = chances_[hop][v];
    return sampling_.resample || hop == 0 ? chance
                                          : chance - chances_[hop - 1][v];
  }

  // Returns the chance that v has drawn a place by the end of this hop.
  // odds(hop) is the chance that v draws it if edges are drawn for v.
  template <typename Odds>
  double HasDrawn(uint64_t v, size_t hop, const Odds& odds) const {
    double drawn = 0;
    for (size_t h = 0; h <= hop; ++h) {
      const double open = DrawnFor(v, h) - (sampling_.resample ? drawn : 0.0);
      drawn += std::max(open, 0.0) * odds(h);
    }
    return drawn;
  }

  absl::Status RunHop(size_t hop) {
    switch (sampling_.algorithm) {
      case SamplingAlgorithm::kWeighted:
        FGNN_RETURN_IF_ERROR(PushWeighted(hop));
        break;
      case SamplingAlgorithm::kRandomWalk:
        FGNN_RETURN_IF_ERROR(PushWalks(hop));
        break;
      default:
        FGNN_RETURN_IF_ERROR(PushEqual([this, hop](uint64_t v, double degree) {
          return Avoidance(HasDrawn(v, hop, [&](size_t h) {
            return UniformOdds(degree, sampling_.fanouts[h], sampling_.replace);
          }));
        }));
    }
    Gather([this, hop](uint64_t v, uint64_t sum) {
      Add(Avoidance(chances_[0][v]), sum);
      if (walked_ != nullptr) Add(walked_[v], sum);
      chances_[hop + 1][v] = static_cast<float>(Chance(sum));
    });
    return absl::OkStatus();
  }

  float ScaleOf(absl::Span<const float> weights, int32_t fanout) const {
    if (fanout < 0) return 0;  // All places are drawn, so the time is not used.
    return static_cast<float>(
        sampling_.replace ? std::accumulate(weights.begin(), weights.end(), 0.0)
                          : HitTime(weights, fanout));
  }

  absl::Status PushWeighted(size_t hop) {
    const absl::Span<const float> all = input_.weights->weights();
    return Push([=, this](uint64_t v, size_t first, size_t degree) {
      const absl::Span<const float> weights = all.subspan(first, degree);
      const bool is_there = chances_[hop][v] > 0;
      if (is_there) scales_[hop][v] = ScaleOf(weights, sampling_.fanouts[hop]);
      return [=, this](size_t place) -> uint64_t {
        const auto weight = static_cast<double>(weights[place]);
        if (!(weight > 0) || !is_there) return 0;
        return Avoidance(HasDrawn(v, hop, [&](size_t h) {
          const double scale = scales_[h][v];
          if (sampling_.fanouts[h] < 0) return 1.0;
          return sampling_.replace
                     ? OddsOfAny(weight / scale, sampling_.fanouts[h])
                     : OneMinusExp(scale * weight);
        }));
      };
    });
  }

  absl::Status PushWalks(size_t hop) {
    const WalkOptions& walks = sampling_.walks;
    const double goes_on = 1 - walks.restart;
    double expected_steps = 0;
    for (uint32_t s = 0; s < walks.length; ++s) {
      expected_steps += walks.num_walks * std::pow(goes_on, s);
    }
    const auto kept = [&](size_t h) {
      return std::min(1.0, sampling_.fanouts[h] / expected_steps);
    };
    for (uint32_t s = 0; s < walks.length; ++s) {
      // Computes where one walk from each destination is after this step, in
      // the mean.
      FGNN_RETURN_IF_ERROR(PushEqual([&](uint64_t v, double degree) {
        return ToFixed(
            (s == 0 ? DrawnFor(v, hop) : goes_on * FromFixed(walkers_[v])) /
            degree);
      }));
      Gather([&](uint64_t v, uint64_t sum) {
        walkers_[v] = sum;
        if (s == 0) return;
        Add(ToFixed(kept(hop) * walks.num_walks * FromFixed(sum)), walked_[v]);
      });
    }
    return PushEqual([&](uint64_t v, double degree) {
      return Avoidance(HasDrawn(v, hop, [&](size_t h) {
        return kept(h) * OddsOfAny(1 / degree, walks.num_walks);
      }));
    });
  }

  // Adds the same value, value(v, degree), to the source of each place of v's
  // list.
  template <typename Value>
  absl::Status PushEqual(const Value& value) {
    return Push([&value](uint64_t v, size_t, size_t degree) {
      const uint64_t each = value(v, static_cast<double>(degree));
      return [each](size_t) { return each; };
    });
  }

  // Adds values(v, first edge, degree)(place) to the source of each place of
  // v's list.
  template <typename Values>
  absl::Status Push(const Values& values) {
    std::atomic<uint64_t> next = 0;
    FirstError error;
    std::vector<Thread> threads;
    for (TableMemory<uint64_t>& part : parts_) {
      threads.emplace_back("fgnn-vip", [&] {
        for (uint64_t begin;
             (begin = next.fetch_add(kVerticesPerChunk)) < num_nodes_;) {
          const uint64_t end = std::min(begin + kVerticesPerChunk, num_nodes_);
          error.Note(PushFrom(begin, end, values, part.get()));
          if (error.any()) return;
        }
      });
    }
    threads.clear();  // Joins the threads.
    return error.status();
  }

  template <typename Values>
  absl::Status PushFrom(uint64_t begin, uint64_t end, const Values& values,
                        uint64_t* sums) const {
    for (uint64_t v = begin; v < end; ++v) {
      FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(input_.graph, v));
      if (list.degree == 0) continue;
      const auto value = values(v, list.begin, list.degree);
      size_t place = 0;
      FGNN_RETURN_IF_ERROR(ForEachSource(input_.graph, list, [&](GlobalId u) {
        Add(value(place++), sums[u]);
      }));
    }
    return absl::OkStatus();
  }

  // Gives each vertex's sum of what was pushed to `take`, and clears the sums.
  template <typename Take>
  void Gather(const Take& take) {
    for (uint64_t v = 0; v < num_nodes_; ++v) {
      uint64_t sum = 0;
      for (TableMemory<uint64_t>& part : parts_)
        Add(std::exchange(part[v], 0), sum);
      take(v, sum);
    }
  }

  const SamplerInput& input_;
  const SamplerOptions& sampling_;
  uint64_t num_nodes_;
  // [hops + 1][N] Chance that v is in the batch before hop h.
  std::vector<TableMemory<float>> chances_;
  // [hops][N] For weighted sampling: the sum of the weights, or the time at
  // which the fanout is hit. Filled in for vertices that a hop may draw for.
  std::vector<TableMemory<float>> scales_;
  // [N] Expected walkers at v, with one walk from each vertex.
  TableMemory<uint64_t> walkers_;
  TableMemory<uint64_t> walked_;  // [N] Avoidance of all steps but the first.
  // [threads][N] Values that are being pushed.
  std::vector<TableMemory<uint64_t>> parts_;
};

}  // namespace

absl::StatusOr<std::vector<float>> VipHotness(const SamplerInput& input,
                                              const SamplerOptions& sampling,
                                              uint32_t num_threads) {
  FGNN_RETURN_IF_ERROR(Validate(input, sampling));
  if (sampling.algorithm == SamplingAlgorithm::kPlugin) {
    return absl::UnimplementedError(
        "cache.policy vip: what a plugin draws is not known");
  }
  FGNN_ASSIGN_OR_RETURN(Propagation propagation,
                        Propagation::Create(input, sampling, num_threads));
  return propagation.Run();
}

}  // namespace fgnn
