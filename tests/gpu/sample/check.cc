// fgnn_gpu_check_sample [--short]: batches of device 0 equal the CPU's, for
// every kind of sampling that runs there.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/cuda/cuda_sampler.h"
#include "shared/base/status.h"
#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/report.h"
#include "tests/gpu/sample/rmat.h"
#include "tests/gpu/sample/task_memory.h"

namespace fgnn {
namespace {

constexpr uint64_t kJobKey = 7;

// What one check compares.
struct Case {
  std::string name;
  SamplerOptions options;
  bool wide = false;
  bool registered = true;
  bool marks = false;
  bool zero_weights = false;  // Whether some weights are 0.
  TopologyPlace place = TopologyPlace::kDevice;
};

Case CaseOf(const std::string& name, std::vector<int32_t> fanouts,
            uint32_t batch_size) {
  Case made;
  made.name = absl::StrCat(name, " [", absl::StrJoin(fanouts, ","), "]");
  made.options.fanouts = std::move(fanouts);
  made.options.batch_size = batch_size;
  made.options.job_key = kJobKey;
  return made;
}

// Fanouts on both sides of each limit of the kernels, and every option.
std::vector<Case> Cases(uint32_t batch_size) {
  std::vector<Case> cases;
  for (const std::vector<int32_t>& fanouts :
       std::vector<std::vector<int32_t>>{{15, 10, 5},
                                         {4, 8, 16},
                                         {32, 3},
                                         {33, 3},
                                         {200},
                                         {-1, 2},
                                         {1, 1, 1, 1, 1, 1, 1, 1}}) {
    cases.push_back(CaseOf("uniform", fanouts, batch_size));
    cases.push_back(CaseOf("with replacement", fanouts, batch_size));
    cases.back().options.replace = true;
    cases.push_back(CaseOf("without resampling", fanouts, batch_size));
    cases.back().options.resample = false;
  }
  cases.push_back(CaseOf("windows of 3 batches", {10, 5}, batch_size));
  cases.back().options.batch_dependency = 3;
  cases.push_back(CaseOf("64-bit indices", {10, 5}, batch_size));
  cases.back().wide = true;
  cases.push_back(CaseOf("pageable block", {10, 5}, batch_size));
  cases.back().registered = false;
  cases.push_back(CaseOf("topology on the host", {10, 5}, batch_size));
  cases.back().place = TopologyPlace::kHost;
  cases.push_back(CaseOf("marked", {10, 5}, batch_size));
  cases.back().marks = true;
  for (const std::vector<int32_t>& fanouts :
       std::vector<std::vector<int32_t>>{{15, 10, 5}, {-1, 4}, {32}}) {
    cases.push_back(CaseOf("LABOR", fanouts, batch_size));
    cases.back().options.algorithm = SamplingAlgorithm::kLabor;
    cases.push_back(CaseOf("weighted", fanouts, batch_size));
    cases.back().options.algorithm = SamplingAlgorithm::kWeighted;
    cases.push_back(CaseOf("weighted, zeros", fanouts, batch_size));
    cases.back().options.algorithm = SamplingAlgorithm::kWeighted;
    cases.back().zero_weights = true;
    cases.push_back(CaseOf("weighted with replacement", fanouts, batch_size));
    cases.back().options.algorithm = SamplingAlgorithm::kWeighted;
    cases.back().options.replace = true;
  }
  cases.push_back(CaseOf("random walks", {10, 5}, batch_size));
  cases.back().options.algorithm = SamplingAlgorithm::kRandomWalk;
  cases.push_back(CaseOf("long random walks", {50}, batch_size));
  cases.back().options.algorithm = SamplingAlgorithm::kRandomWalk;
  cases.back().options.walks = {.num_walks = 40, .length = 20, .restart = 0.05};
  cases.push_back(CaseOf("pairs", {5, 5}, batch_size));
  cases.back().options.negatives = 2;
  cases.back().options.exclude_seed_edges = false;
  cases.push_back(CaseOf("pairs without their edges", {5, 5}, batch_size));
  cases.back().options.negatives = 2;
  cases.push_back(CaseOf("pairs, without resampling", {5, 5}, batch_size));
  cases.back().options.negatives = 1;
  cases.back().options.resample = false;
  return cases;
}

// Weights over six powers of ten, so that few edges take most of the draws.
// Each list's first is not 0.
std::vector<float> WeightsOf(const CscView& view, const Case& c) {
  std::vector<float> weights(view.num_edges());
  for (uint64_t e = 0; e < weights.size(); ++e) {
    const uint64_t bits = Mix64(e);
    weights[e] = c.zero_weights && bits % 3 == 0
                     ? 0
                     : std::pow(10.0F, static_cast<float>(bits % 7));
  }
  for (uint64_t v = 0; v < view.num_nodes(); ++v) {
    const auto begin = static_cast<uint64_t>(view.indptr[v]);
    if (begin < weights.size()) weights[begin] = 1;
  }
  return weights;
}

// Returns "" if both blocks hold the same task.
std::string Difference(const TaskMemory& device, const TaskMemory& host) {
  const auto made = ReadTask(device.span(), kJobKey);
  const auto expected = ReadTask(host.span(), kJobKey);
  if (!made.ok()) return std::string(made.status().message());
  if (!expected.ok()) return std::string(expected.status().message());
  if (made->digest != expected->digest) {
    return absl::StrCat("digest ", made->digest, ", the CPU's ",
                        expected->digest);
  }
  return made->hot_rank == expected->hot_rank ? "" : "other hot ranks";
}

absl::Status Check(const Case& c, RmatGraph& graph, uint64_t num_batches,
                   Report* report) {
  const CscView view = c.wide ? graph.wide_view() : graph.view();
  std::vector<float> weights;  // Outlives the tables.
  std::optional<AliasTables> tables;
  if (c.options.algorithm == SamplingAlgorithm::kWeighted) {
    weights = WeightsOf(view, c);
    FGNN_ASSIGN_OR_RETURN(tables, AliasTables::Build(view, weights, 1));
  }
  const SamplerInput input = {
      .graph = view,
      .train = graph.train(),
      .weights = tables.has_value() ? &*tables : nullptr,
      .train_edges = EdgeView(&view)};
  FGNN_ASSIGN_OR_RETURN(const auto on_device,
                        DeviceGraph::Make(input.graph, 0, c.place));
  FGNN_ASSIGN_OR_RETURN(const auto device,
                        NewCudaSampler(on_device, input, c.options,
                                       {.nodes = 1000, .edges = 1000}));
  FGNN_ASSIGN_OR_RETURN(const auto host, NewCpuSampler(input, c.options));
  std::vector<uint32_t> ranks(graph.num_nodes());
  std::iota(ranks.rbegin(), ranks.rend(), 0);
  if (c.marks) {
    const HotRanks order = {.ranks = ranks, .rank_order_version = 3};
    FGNN_RETURN_IF_ERROR(device->MarkBy(order));
    FGNN_RETURN_IF_ERROR(host->MarkBy(order));
  }
  constexpr uint64_t kBytes = uint64_t{256} << 20;
  FGNN_ASSIGN_OR_RETURN(const TaskMemory device_block,
                        TaskMemory::Make(kBytes, c.registered));
  FGNN_ASSIGN_OR_RETURN(const TaskMemory host_block,
                        TaskMemory::Make(kBytes, false));
  uint64_t edges = 0;
  for (uint64_t seq = 0; seq < num_batches; ++seq) {
    FGNN_ASSIGN_OR_RETURN(const SampledTask task,
                          device->Sample(BatchSeq(seq), device_block.span()));
    FGNN_RETURN_IF_ERROR(
        host->Sample(BatchSeq(seq), host_block.span()).status());
    edges += task.num_edges;
    const std::string difference = Difference(device_block, host_block);
    if (difference.empty()) continue;
    report->Fail(c.name, absl::StrCat("batch ", seq, ": ", difference));
    return absl::OkStatus();
  }
  report->Check(c.name, true,
                absl::StrCat(num_batches, " batches, ", edges, " edges"));
  return absl::OkStatus();
}

int Run(bool is_short) {
  if (!HasGpu()) return kNoGpu;
  Report report;
  RmatGraph graph(is_short ? 8 : 16, 16, std::thread::hardware_concurrency());
  for (const Case& c : Cases(is_short ? 20 : 1000)) {
    // Before it runs: a crash then has a name.
    std::printf("-- %s\n", c.name.c_str());
    std::fflush(stdout);
    const absl::Status status = Check(c, graph, is_short ? 1 : 5, &report);
    if (!status.ok()) report.Fail(c.name, status.ToString());
  }
  return report.Finish();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  return fgnn::Run(argc > 1 && std::strcmp(argv[1], "--short") == 0);
}
