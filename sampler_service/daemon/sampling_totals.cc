#include "sampler_service/daemon/sampling_totals.h"

#include <utility>

namespace fgnn {

void SamplingTotals::Add(const SampledTask& task) {
  const MutexLock lock(&mutex_);
  ++sums_.batches;
  sums_.edges += task.num_edges;
  sums_.input_nodes += task.num_input_nodes;
  sums_.order += double{task.seconds.order};
  sums_.sample += double{task.seconds.sample};
  sums_.id_map += double{task.seconds.id_map};
  sums_.mark += double{task.seconds.mark};
  sums_.copy += double{task.seconds.copy};
  sums_.split += double{task.seconds.split};
}

void SamplingTotals::SetThreads(uint32_t num_threads) {
  const MutexLock lock(&mutex_);
  sums_.threads = num_threads;
}

void SamplingTotals::AddTo(MetricPage& page) const {
  Sums sums;
  {
    const MutexLock lock(&mutex_);
    sums = sums_;
  }
  page.AddGauge("fgnn_sampler_threads",
                "Threads that sample for the attached job; 0 without one.",
                sums.threads);
  page.AddCounter("fgnn_sampler_batches_total",
                  "Batches that this sampler made.",
                  static_cast<double>(sums.batches));
  page.AddCounter("fgnn_sampler_edges_total",
                  "Edges in the batches that this sampler made.",
                  static_cast<double>(sums.edges));
  page.AddCounter("fgnn_sampler_input_nodes_total",
                  "Input nodes of the batches that this sampler made.",
                  static_cast<double>(sums.input_nodes));
  const std::pair<const char*, double> stages[] = {
      {"order", sums.order}, {"sample", sums.sample}, {"id_map", sums.id_map},
      {"mark", sums.mark},   {"copy", sums.copy},     {"split", sums.split}};
  for (const auto& [stage, seconds] : stages) {
    page.AddCounter("fgnn_sampler_stage_seconds_total",
                    "Seconds of this sampler's threads in each stage.", seconds,
                    {{"stage", stage}});
  }
}

}  // namespace fgnn
