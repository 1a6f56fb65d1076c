// Graphs and limits for tests of the laws of random draws.
#ifndef FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_LAW_CASE_H_
#define FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_LAW_CASE_H_

#include <cmath>
#include <cstdint>
#include <utility>

#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {

// Returns one vertex, 0, whose neighbours are 1 .. degree; they have none.
inline reference::CscGraph Star(uint32_t degree) {
  reference::AdjacencyLists lists(degree + 1);
  for (uint32_t i = 1; i <= degree; ++i) lists[0].push_back(i);
  return reference::CscGraph(std::move(lists));
}

inline reference::Job StarJob(SamplingAlgorithm algorithm, int32_t fanout) {
  reference::Job job;
  job.train = {0};
  job.options.algorithm = algorithm;
  job.options.fanouts = {fanout};
  job.options.batch_size = 1;
  return job;
}

// Returns the limit of chi-square at 1e-6 (Wilson and Hilferty).
inline double ChiSquareLimit(double degrees) {
  const double a = 2 / (9 * degrees);
  return degrees * std::pow(1 - a + 4.7534 * std::sqrt(a), 3);
}

// Counts of two facts: [first][second].
using FactTable = double[2][2];

// Returns chi-square, of one degree of freedom, of two independent facts.
inline double ChiSquareOf(const FactTable& table) {
  const double n = table[0][0] + table[0][1] + table[1][0] + table[1][1];
  double chi_square = 0;
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 2; ++b) {
      const double expected =
          (table[a][0] + table[a][1]) * (table[0][b] + table[1][b]) / n;
      chi_square +=
          (table[a][b] - expected) * (table[a][b] - expected) / expected;
    }
  }
  return chi_square;
}
// Its limit at 1e-6.
inline constexpr double kFactLimit = 23.93;

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_LAW_CASE_H_
