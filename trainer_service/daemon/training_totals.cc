#include "trainer_service/daemon/training_totals.h"

#include <utility>

namespace fgnn {

void TrainingTotals::Add(const BatchRecord& record) {
  const MutexLock lock(&mutex_);
  sums_.batches += record.part == 0 ? 1 : 0;
  sums_.edges += record.num_edges;
  sums_.input_nodes += record.num_input_nodes;
  sums_.cache_hits += record.num_cache_hits;
  sums_.matched += record.num_matched;
  sums_.wait += double{record.wait};
  sums_.extract += double{record.extract};
  sums_.train += double{record.train};
  sums_.sync += double{record.sync};
  sums_.shuffle += double{record.shuffle};
}

void TrainingTotals::AddDamaged() {
  const MutexLock lock(&mutex_);
  ++sums_.damaged;
}

void TrainingTotals::AddTo(MetricPage& page) const {
  Sums sums;
  {
    const MutexLock lock(&mutex_);
    sums = sums_;
  }
  const auto add = [&page](const char* name, const char* help, uint64_t value) {
    page.AddCounter(name, help, static_cast<double>(value));
  };
  add("fgnn_trainer_batches_total", "Batches that this trainer trained.",
      sums.batches);
  add("fgnn_trainer_damaged_batches_total",
      "Batches that arrived damaged at this trainer and were sampled again.",
      sums.damaged);
  add("fgnn_trainer_edges_total",
      "Edges in the batches that this trainer trained.", sums.edges);
  add("fgnn_trainer_cache_hits_total",
      "Input nodes whose features this trainer found in its cache.",
      sums.cache_hits);
  add("fgnn_trainer_cache_misses_total",
      "Input nodes whose features this trainer did not find in its cache.",
      sums.input_nodes - sums.cache_hits);
  add("fgnn_trainer_matched_rows_total",
      "Cache misses that this trainer copied from its batch before.",
      sums.matched);
  const std::pair<const char*, double> stages[] = {{"wait", sums.wait},
                                                   {"extract", sums.extract},
                                                   {"train", sums.train},
                                                   {"sync", sums.sync},
                                                   {"shuffle", sums.shuffle}};
  for (const auto& [stage, seconds] : stages) {
    page.AddCounter("fgnn_trainer_stage_seconds_total",
                    "Seconds of this trainer in each stage.", seconds,
                    {{"stage", stage}});
  }
}

}  // namespace fgnn
