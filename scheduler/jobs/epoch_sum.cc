#include "scheduler/jobs/epoch_sum.h"

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace fgnn {

void EpochSum::Add(const BatchRecord& record) {
  ++batches_;
  seeds_ += record.num_seeds;
  edges_ += record.num_edges;
  input_nodes_ += record.num_input_nodes;
  cache_hits_ += record.num_cache_hits;
  loss_sum_ += double{record.loss} * record.num_seeds;
  stages_.sample += double{record.sample};
  stages_.id_map += double{record.id_map};
  stages_.mark += double{record.mark};
  stages_.copy += double{record.copy};
  stages_.wait += double{record.wait};
  stages_.extract += double{record.extract};
  stages_.train += double{record.train};
  stages_.sync += double{record.sync};
}

double EpochSum::loss() const {
  return seeds_ == 0 ? 0 : loss_sum_ / static_cast<double>(seeds_);
}

double EpochSum::cache_hit_rate() const {
  return input_nodes_ == 0 ? 0
                           : static_cast<double>(cache_hits_) /
                                 static_cast<double>(input_nodes_);
}

std::string MetricsLine(const EpochFacts& facts, const EpochSum& sum) {
  const StageSeconds& stages = sum.stages();
  nlohmann::ordered_json line = {{"epoch", facts.epoch},
                                 {"loss", sum.loss()},
                                 {"valid_accuracy", nullptr},
                                 {"seconds", facts.seconds},
                                 {"batches", sum.batches()},
                                 {"edges", sum.edges()},
                                 {"input_nodes", sum.input_nodes()},
                                 {"cache_hit_rate", sum.cache_hit_rate()},
                                 {"samplers", facts.samplers},
                                 {"trainers", facts.trainers},
                                 {"switches", facts.switches},
                                 {"stages",
                                  {{"sample", stages.sample},
                                   {"id_map", stages.id_map},
                                   {"mark", stages.mark},
                                   {"copy", stages.copy},
                                   {"wait", stages.wait},
                                   {"extract", stages.extract},
                                   {"train", stages.train},
                                   {"sync", stages.sync}}},
                                 {"evaluate_seconds", facts.evaluate_seconds}};
  if (facts.valid_accuracy.has_value()) {
    line["valid_accuracy"] = *facts.valid_accuracy;
  }
  return line.dump() + "\n";
}

std::string DigestLine(const BatchRecord& record) {
  return absl::StrFormat("%d %08x\n", record.seq_plus_one - 1, record.digest);
}

}  // namespace fgnn
