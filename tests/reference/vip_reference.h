// A plain reference of VipHotness(): the formulas of
// sampler_service/presample/vip.h in the shortest form.
#ifndef FGNN_TESTS_REFERENCE_VIP_REFERENCE_H_
#define FGNN_TESTS_REFERENCE_VIP_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/reference/sampling_reference.h"

namespace fgnn::reference {

// Returns the root of a rising function.
template <typename Function>
double Bisect(const Function& function) {
  double high = 1;
  while (function(high) < 0) high *= 2;
  double low = 0;
  while (true) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) return low;  // No double between.
    (function(middle) < 0 ? low : high) = middle;
  }
}

// Returns q for each place of a list. `weights`: for kWeighted, the weights of
// the list.
inline std::vector<double> PlaceOdds(const SamplerOptions& options,
                                     size_t degree, const float* weights,
                                     int32_t fanout) {
  const auto d = static_cast<double>(degree);
  const double f = fanout;
  if (options.algorithm == SamplingAlgorithm::kRandomWalk) {
    const WalkOptions& w = options.walks;
    double steps = 0;
    for (uint32_t s = 0; s < w.length; ++s) {
      steps += w.num_walks * std::pow(1 - w.restart, s);
    }
    return std::vector<double>(
        degree,
        std::min(1.0, f / steps) * (1 - std::pow(1 - 1 / d, w.num_walks)));
  }
  if (options.algorithm != SamplingAlgorithm::kWeighted) {
    const double odds = fanout < 0        ? 1
                        : options.replace ? 1 - std::pow(1 - 1 / d, f)
                                          : std::min(1.0, f / d);
    return std::vector<double>(degree, odds);
  }
  double sum = 0;
  double num_positive = 0;
  for (size_t i = 0; i < degree; ++i) {
    sum += static_cast<double>(weights[i]);
    num_positive += weights[i] > 0 ? 1 : 0;
  }
  std::vector<double> odds(degree);
  const bool all = fanout < 0 || (!options.replace && num_positive <= f);
  const double time = all || options.replace ? 0 : Bisect([&](double t) {
    double hits = 0;
    for (size_t i = 0; i < degree; ++i) {
      hits += 1 - std::exp(-t * static_cast<double>(weights[i]));
    }
    return hits - f;
  });
  for (size_t i = 0; i < degree; ++i) {
    const auto weight = static_cast<double>(weights[i]);
    odds[i] = all               ? (weight > 0 ? 1 : 0)
              : options.replace ? 1 - std::pow(1 - weight / sum, f)
                                : 1 - std::exp(-time * weight);
  }
  return odds;
}

inline std::vector<double> VipHotness(const AdjacencyLists& graph,
                                      const Job& job) {
  const SamplerOptions& options = job.options;
  const size_t n = graph.size();
  const double batches =
      std::max(1.0, static_cast<double>(job.train.size()) / options.batch_size);
  std::vector<std::vector<double>> p = {std::vector<double>(n)};
  for (const int64_t v : job.train) p[0][static_cast<size_t>(v)] = 1 / batches;
  std::vector<std::vector<double>> drawn(n);
  for (size_t v = 0; v < n; ++v) drawn[v].resize(graph[v].size());
  std::vector<double> walked(n);  // Expected number of later steps at a vertex.
  for (size_t h = 0; h < options.fanouts.size(); ++h) {
    std::vector<double> not_there(n);
    for (size_t u = 0; u < n; ++u) not_there[u] = 1 - p[0][u];
    std::vector<double> walkers(n);
    size_t first = 0;
    for (size_t v = 0; v < n; first += graph[v].size(), ++v) {
      const double fresh =
          options.resample || h == 0 ? p[h][v] : p[h][v] - p[h - 1][v];
      walkers[v] = fresh;
      const std::vector<double> odds =
          PlaceOdds(options, graph[v].size(),
                    job.weights.empty() ? nullptr : job.weights.data() + first,
                    options.fanouts[h]);
      for (size_t i = 0; i < graph[v].size(); ++i) {
        double& r = drawn[v][i];
        r += (options.resample ? fresh - r : fresh) * odds[i];
        not_there[graph[v][i]] *= 1 - r;
      }
    }
    if (options.algorithm == SamplingAlgorithm::kRandomWalk) {
      const WalkOptions& w = options.walks;
      double steps = 0;
      for (uint32_t s = 0; s < w.length; ++s) {
        steps += w.num_walks * std::pow(1 - w.restart, s);
      }
      for (uint32_t s = 0; s < w.length; ++s) {
        std::vector<double> next(n);
        for (size_t v = 0; v < n; ++v) {
          for (const uint32_t u : graph[v]) {
            next[u] += (s == 0 ? 1 : 1 - w.restart) * walkers[v] /
                       static_cast<double>(graph[v].size());
          }
        }
        walkers = next;
        for (size_t u = 0; s > 0 && u < n; ++u) {
          walked[u] += std::min(1.0, options.fanouts[h] / steps) * w.num_walks *
                       walkers[u];
        }
      }
    }
    p.emplace_back(n);
    for (size_t u = 0; u < n; ++u) {
      p[h + 1][u] = 1 - not_there[u] * std::exp(-walked[u]);
    }
  }
  for (double& chance : p.back()) chance *= batches;
  return p.back();
}

}  // namespace fgnn::reference

#endif  // FGNN_TESTS_REFERENCE_VIP_REFERENCE_H_
