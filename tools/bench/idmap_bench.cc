#include "tools/bench/idmap_bench.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "sampler_service/id_map/cpu/cpu_id_map.h"
#include "sampler_service/id_map/cpu/direct_id_map.h"
#include "sampler_service/id_map/cpu/hash_id_map.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/minibatch/task.h"
#include "tools/bench/files/task_block.h"
#include "tools/bench/random_access.h"

namespace fgnn {
namespace {

// Argument and expected result of one call of MapInPlace().
struct Call {
  std::vector<uint32_t> global_ids;
  std::vector<uint32_t> local_ids;
};

struct BatchCalls {
  std::vector<Call> calls;  // Calls of a batch: the seeds, then each hop.
  uint64_t num_nodes = 0;
};

BatchCalls CallsOf(const TaskView& task) {
  BatchCalls batch;
  batch.num_nodes = task.input_nodes.size();
  Call seeds;
  for (uint32_t i = 0; i < task.num_seeds; ++i) {
    seeds.global_ids.push_back(task.input_nodes[i]);
    seeds.local_ids.push_back(i);
  }
  batch.calls.push_back(std::move(seeds));
  for (int h = 0; h < task.num_hops; ++h) {
    Call hop;
    for (const uint32_t local_id : task.hops[h].indices) {
      hop.global_ids.push_back(task.input_nodes[local_id]);
      hop.local_ids.push_back(local_id);
    }
    batch.calls.push_back(std::move(hop));
  }
  return batch;
}

absl::StatusOr<std::vector<BatchCalls>> SampleCalls(
    const SamplerInput& input, const SampleBenchOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Sampler> sampler,
                        NewCpuSampler(input, options.sampling));
  FGNN_ASSIGN_OR_RETURN(const TaskBlock block,
                        TaskBlock::Create(input, options.sampling));
  std::vector<BatchCalls> batches;
  for (BatchSeq seq(0); seq < BatchSeq(options.batches); ++seq) {
    FGNN_RETURN_IF_ERROR(sampler->Sample(seq, block.span()).status());
    FGNN_ASSIGN_OR_RETURN(const TaskView task,
                          ReadTask(block.span(), options.sampling.job_key));
    batches.push_back(CallsOf(task));
  }
  return batches;
}

// Returns the seconds in the map. Copies of the ids and comparisons are not
// counted.
absl::StatusOr<double> TimeRound(IdMap& map,
                                 const std::vector<BatchCalls>& batches) {
  double seconds = 0;
  std::vector<uint32_t> ids;
  for (const BatchCalls& batch : batches) {
    map.StartBatch();
    for (const Call& call : batch.calls) {
      ids = call.global_ids;
      const Stopwatch watch;
      map.MapInPlace(absl::MakeSpan(ids));
      seconds += watch.Seconds();
      if (ids != call.local_ids) {
        return absl::InternalError(
            "an id map gave other local ids than the sampler's");
      }
    }
  }
  return seconds;
}

template <typename Map>
absl::StatusOr<IdMapRate> Measure(std::string name, Map& map,
                                  const std::vector<BatchCalls>& batches,
                                  uint64_t num_ids, uint32_t rounds) {
  double fastest = std::numeric_limits<double>::infinity();
  // A first round that takes the map's pages.
  FGNN_RETURN_IF_ERROR(TimeRound(map, batches).status());
  for (uint32_t round = 0; round < rounds; ++round) {
    FGNN_ASSIGN_OR_RETURN(const double seconds, TimeRound(map, batches));
    fastest = std::min(fastest, seconds);
  }
  IdMapRate rate;
  rate.name = std::move(name);
  rate.ids_per_second = static_cast<double>(num_ids) / fastest;
  rate.table_bytes = map.table_bytes();
  rate.workspace_bytes = map.workspace_bytes();
  FGNN_ASSIGN_OR_RETURN(rate.random_updates_per_second,
                        RandomUpdatesPerSecond(rate.table_bytes, rounds));
  return rate;
}

}  // namespace

absl::StatusOr<IdMapBenchResult> RunIdMapBench(
    const SamplerInput& input, const SampleBenchOptions& options) {
  FGNN_RETURN_IF_ERROR(ValidateBenchFlags(options));
  FGNN_ASSIGN_OR_RETURN(const std::vector<BatchCalls> batches,
                        SampleCalls(input, options));
  IdMapBenchResult result;
  for (const BatchCalls& batch : batches) {
    result.num_nodes += batch.num_nodes;
    for (const Call& call : batch.calls) {
      result.num_ids += call.global_ids.size();
    }
  }
  const uint64_t num_nodes = input.graph.num_nodes();
  const uint64_t most = MaxBatchNodes(input.graph, options.sampling);
  const bool hash_chosen =
      ChooseCpuIdMap(num_nodes, most) == CpuIdMapKind::kHash;
  {
    FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<DirectIdMap> map,
                          DirectIdMap::Create(num_nodes, most));
    FGNN_ASSIGN_OR_RETURN(
        IdMapRate rate,
        Measure("direct", *map, batches, result.num_ids, options.rounds));
    rate.is_chosen = !hash_chosen;
    result.rates.push_back(std::move(rate));
  }
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<HashIdMap> map,
                        HashIdMap::Create(num_nodes, most));
  FGNN_ASSIGN_OR_RETURN(
      IdMapRate rate,
      Measure("hash", *map, batches, result.num_ids, options.rounds));
  rate.is_chosen = hash_chosen;
  result.rates.push_back(std::move(rate));
  return result;
}

}  // namespace fgnn
