#include "scheduler/planning/hosts/host_evaluation.h"

#include <algorithm>
#include <cstddef>

#include "shared/minibatch/hop_size.h"

namespace fgnn {
namespace {

// A number that is added takes as long as so many products that are summed. In
// an evaluation it comes from memory, in a batch mostly from a cache. Measured:
// .60 s for 150,000 vertices of degree 40, with 3 layers of 128, on a core that
// trains a batch of 12,000 input nodes in 1.9 ms.
constexpr double kProductsOfASum = 20;
constexpr double kProductsOfACachedSum = 3;
// Passes forward that a gradient takes as long as.
constexpr double kPassesOfAGradient = 3;
// Seconds until all hosts have begun, and until they have ended: each looks ten
// times a second.
constexpr double kMeetingSeconds = 0.3;

struct LayerWidths {
  double in = 0;
  double out = 0;
};

LayerWidths WidthsOf(const PlanInput& input, uint32_t layer) {
  const ModelSpec& model = input.spec.model;
  const bool is_last = layer + 1 == model.layers;
  const auto features = static_cast<double>(input.dataset.feature_columns);
  return {.in = layer == 0 ? features : model.hidden,
          .out = is_last && !input.spec.training.predicts_links()
                     ? static_cast<double>(input.dataset.num_outputs)
                     : model.hidden};
}

// Work of a layer, in products that are summed.
struct Work {
  double messages = 0;  // Of the vertices' messages, which each host makes.
  double outputs = 0;   // Which hosts share.
};

// `sums`: the work of the numbers that are added.
Work WorkOf(const LayerWidths& widths, double sources, double destinations,
            double sums) {
  const double product = widths.in * widths.out;
  return {.messages = sources * product,
          .outputs =
              destinations * product + sums * std::min(widths.in, widths.out)};
}

// Vertices whose outputs of the layer are needed, at most.
double DestinationsOf(const PlanInput& input, uint32_t layer) {
  const bool is_last = layer + 1 == input.spec.model.layers;
  return static_cast<double>(is_last ? input.dataset.num_scored
                                     : input.dataset.num_nodes);
}

Work WorkOfEvaluation(const PlanInput& input) {
  const auto num_nodes =
      static_cast<double>(std::max<uint64_t>(input.dataset.num_nodes, 1));
  Work sum;
  for (uint32_t layer = 0; layer < input.spec.model.layers; ++layer) {
    const double destinations = DestinationsOf(input, layer);
    const double edges =
        static_cast<double>(input.dataset.num_edges) * destinations / num_nodes;
    const Work work = WorkOf(WidthsOf(input, layer), num_nodes, destinations,
                             edges * kProductsOfASum);
    sum.messages += work.messages;
    sum.outputs += work.outputs;
  }
  return sum;
}

double WorkOfABatch(const PlanInput& input) {
  const std::vector<HopSize>& hops = input.sampling.hops;
  double sum = 0;
  for (size_t hop = 0; hop < hops.size(); ++hop) {
    // The first hop is the last layer.
    const auto layer = static_cast<uint32_t>(hops.size() - 1 - hop);
    const auto edges = static_cast<double>(hops[hop].num_edges);
    const Work work = WorkOf(WidthsOf(input, layer),
                             static_cast<double>(hops[hop].num_sources),
                             static_cast<double>(hops[hop].num_destinations),
                             edges * kProductsOfACachedSum);
    sum += work.messages + work.outputs;
  }
  return sum;
}

// Returns the seconds in which each host gets what the others compute, one host
// after the other.
std::optional<double> SecondsOfTrade(const std::vector<HostShare>& hosts,
                                     const RateBetween& rate, double bytes,
                                     double trainers) {
  double slowest = 0;
  for (const HostShare& host : hosts) {
    double gets = 0;
    double sends = 0;
    for (const HostShare& other : hosts) {
      if (other.name == host.name) continue;
      const std::optional<double> from = rate(other, host);
      const std::optional<double> to = rate(host, other);
      if (!from.has_value() || !to.has_value()) return std::nullopt;
      gets +=
          bytes * static_cast<double>(other.num_training) / trainers / *from;
      sends += bytes * static_cast<double>(host.num_training) / trainers / *to;
    }
    slowest = std::max({slowest, gets, sends});
  }
  return slowest;
}

}  // namespace

uint64_t ResultBytes(const PlanInput& input) {
  double floats = 0;
  for (uint32_t layer = 0; layer < input.spec.model.layers; ++layer) {
    floats += DestinationsOf(input, layer) * WidthsOf(input, layer).out;
  }
  return static_cast<uint64_t>(floats) * sizeof(float);
}

EvaluationChoice ChooseEvaluation(const PlanInput& input,
                                  const std::vector<HostShare>& hosts,
                                  const RateBetween& rate) {
  EvaluationChoice choice;
  if (hosts.size() < 2) return choice;
  double trainers = 0;
  uint64_t fewest = hosts.front().num_training;
  for (const HostShare& host : hosts) {
    trainers += static_cast<double>(host.num_training);
    fewest = std::min(fewest, host.num_training);
  }
  const auto bytes = static_cast<double>(ResultBytes(input));
  choice.bytes = static_cast<uint64_t>(
      bytes * (1 - static_cast<double>(fewest) / std::max(trainers, 1.0)));
  const double seconds_of_work =
      input.training.seconds_per_batch /
      std::max(WorkOfABatch(input) * kPassesOfAGradient, 1.0);
  const Work work = WorkOfEvaluation(input);
  const auto own =
      static_cast<double>(std::max<uint64_t>(hosts.front().num_training, 1));
  choice.alone_seconds = (work.messages + work.outputs) * seconds_of_work / own;
  const std::optional<double> trade =
      SecondsOfTrade(hosts, rate, bytes, std::max(trainers, 1.0));
  if (trade.has_value()) {
    // Results go while others are computed, but for those of a layer's end.
    choice.all_seconds =
        kMeetingSeconds + *trade +
        seconds_of_work * (work.messages / static_cast<double>(
                                               std::max<uint64_t>(fewest, 1)) +
                           work.outputs / std::max(trainers, 1.0));
  }
  const std::string& wanted = input.spec.hosts.evaluation;
  choice.by_all =
      wanted == "all" || (wanted == "auto" && choice.all_seconds.has_value() &&
                          *choice.all_seconds < choice.alone_seconds);
  return choice;
}

}  // namespace fgnn
