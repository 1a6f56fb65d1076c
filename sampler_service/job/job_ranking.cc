#include "sampler_service/job/job_ranking.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/job/online_counts.h"
#include "sampler_service/plugin/graph_for_plugins.h"
#include "sampler_service/plugin/ranking_plugin.h"
#include "sampler_service/presample/hotness.h"
#include "sampler_service/presample/input_node_counts.h"
#include "sampler_service/presample/policy_hotness.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/graph/rank_order.h"
#include "shared/plugin/plugin_library.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Returns the file's name, size and time as text, for the key of an order. So
// another file of the same name makes another order.
std::string StateOf(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, error);
  return absl::StrCat(path.filename().string(), " of ", size, " bytes at ",
                      time.time_since_epoch().count());
}

absl::StatusOr<HotnessSource> SourceOf(const JobSpec& spec,
                                       const JobSampling& job,
                                       const fs::path& plugins) {
  FGNN_ASSIGN_OR_RETURN(const HotnessPolicy policy,
                        HotnessPolicyOf(spec.cache.policy));
  uint32_t num_epochs = spec.cache.epochs;
  std::string policy_plugin;
  if (policy == HotnessPolicy::kPlugin) {
    policy_plugin = StateOf(
        PathOf({.folder = plugins, .name = spec.cache.plugin, .field = ""}));
  }
  if (policy == HotnessPolicy::kOptimal) num_epochs = spec.training.epochs;
  if (policy == HotnessPolicy::kAuto) num_epochs = kMostAutoEpochs;
  return HotnessSource{
      .policy = policy,
      .sampling = job.options,
      .weights_file = StateOf(job.dataset.folder() / spec.sampling.weights),
      .plugin = StateOf(PathOf(
          {.folder = plugins, .name = spec.sampling.plugin, .field = ""})),
      .policy_plugin = std::move(policy_plugin),
      .num_epochs = num_epochs};
}

// Returns the job's options for batches that are sampled only to be counted.
// They draw for themselves: windows change no expectation, and fewer
// independent draws would make the counts worse.
SamplerOptions ToPresample(const SamplerOptions& sampling, uint64_t seed) {
  SamplerOptions options = sampling;
  options.seed = seed;
  options.batch_dependency = 1;
  return options;
}

// Whether the policy's counts are made in parts, before the job trains.
bool CountsAhead(HotnessPolicy policy) {
  return policy == HotnessPolicy::kPresc || policy == HotnessPolicy::kOptimal;
}

bool NeedsCounts(HotnessPolicy policy) {
  return CountsAhead(policy) || policy == HotnessPolicy::kOnline;
}

absl::StatusOr<std::vector<uint32_t>> SumOf(absl::Span<const fs::path> files,
                                            uint64_t num_nodes) {
  std::vector<uint32_t> sums(num_nodes);
  for (const fs::path& path : files) {
    FGNN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
    if (file.bytes().size() != num_nodes * sizeof(uint32_t)) {
      return absl::DataLossError(absl::StrCat(
          path.string(), " has ", file.bytes().size(), " bytes; expected ",
          num_nodes * sizeof(uint32_t), ", a count for each vertex"));
    }
    const auto* const counts =
        reinterpret_cast<const uint32_t*>(file.bytes().data());
    for (uint64_t v = 0; v < num_nodes; ++v) {
      sums[v] += counts[v];
    }
  }
  return sums;
}

absl::StatusOr<PolicyHotness> HotnessOfPlugin(const JobSpec& spec,
                                              const JobSampling& job,
                                              const fs::path& plugins) {
  const PluginGraph graph =
      GraphForPlugins(job.dataset.graph(), job.dataset.edge_weights());
  const absl::Span<const int64_t> split = job.dataset.train();
  std::vector<uint32_t> train;
  for (size_t i = 0; i < split.size(); ++i) {
    FGNN_ASSIGN_OR_RETURN(train.emplace_back(),
                          ReadSplit(job.dataset.graph().places, split, i,
                                    job.dataset.num_nodes()));
  }
  FGNN_ASSIGN_OR_RETURN(
      std::vector<float> hotness,
      HotnessByPlugin(plugins, spec.cache.plugin,
                      {.graph = &graph,
                       .train = std::move(train),
                       .fanouts = job.options.fanouts,
                       .batch_size = job.options.batch_size}));
  return PolicyHotness{.hotness = std::move(hotness)};
}

absl::StatusOr<PolicyHotness> HotnessOf(const HotnessSource& source,
                                        const JobSampling& job,
                                        absl::Span<const uint32_t> out_degrees,
                                        const RankOrderOptions& options) {
  const uint64_t batches = job.batches_per_epoch();
  PolicyHotnessInput input;
  input.graph = job.input();
  input.sampling = job.options;
  input.out_degrees = out_degrees;
  input.num_epochs = source.num_epochs;
  input.num_threads = options.num_threads;
  input.count = [&](uint64_t seed, uint32_t begin,
                    uint32_t end) -> absl::StatusOr<std::vector<uint32_t>> {
    if (CountsAhead(source.policy)) {
      return SumOf(options.counts, job.dataset.num_nodes());
    }
    const CountOptions counting = {
        .batches = BatchesOfEpochs(begin, end, batches),
        .num_threads = options.num_samplers,
        .factory = job.factory,
        .check = options.check};
    if (source.policy == HotnessPolicy::kOnline) {
      return SumOfCounts(options.counts, job, counting);
    }
    return CountInputNodes(job.input(), ToPresample(job.options, seed),
                           counting);
  };
  return HotnessBy(source.policy, input);
}

}  // namespace

absl::Status CountPart(const JobSpec& spec, const JobSampling& job,
                       const CountPartOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const HotnessSource source,
                        SourceOf(spec, job, /*plugins=*/{}));
  if (!CountsAhead(source.policy) || options.part >= options.num_parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("cache.policy '", spec.cache.policy, "' has no part ",
                     options.part, " of ", options.num_parts, " to count"));
  }
  const SamplerOptions sampling =
      source.policy == HotnessPolicy::kOptimal
          ? job.options
          : ToPresample(job.options, kPresampleSeed);
  const uint64_t num_batches =
      BatchesOfEpochs(0, source.num_epochs, job.batches_per_epoch()).size();
  const auto begin_of = [&](uint64_t part) {
    return BatchSeq(num_batches / options.num_parts * part +
                    std::min(part, num_batches % options.num_parts));
  };
  const BatchRange range = {begin_of(options.part), begin_of(options.part + 1)};
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> counts,
                        CountInputNodes(job.input(), sampling,
                                        {.batches = range,
                                         .num_threads = options.num_threads,
                                         .factory = job.factory,
                                         .check = options.check}));
  return WriteFileAtomically(
      options.path,
      std::string_view(reinterpret_cast<const char*>(counts.data()),
                       counts.size() * sizeof(uint32_t)));
}

uint64_t OnlineBatches(const JobSpec& spec, const JobSampling& job) {
  return spec.cache.policy == NameOf(HotnessPolicy::kOnline)
             ? BatchesOfEpochs(0, spec.cache.epochs, job.batches_per_epoch())
                   .size()
             : 0;
}

absl::StatusOr<RankOrderFacts> MakeRankOrder(const JobSpec& spec,
                                             const JobSampling& job,
                                             const RankOrderOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const HotnessSource source,
                        SourceOf(spec, job, options.plugins));
  const uint64_t key = HotnessKey(source);
  const absl::Status saved = RankOrder::Open(job.dataset, key).status();
  if (saved.ok()) return RankOrderFacts{.key = key};
  if (!absl::IsNotFound(saved)) {
    LogWarning("{}: made again", MessageOf(saved));
  }
  if (NeedsCounts(source.policy) && options.counts.empty()) {
    return RankOrderFacts{.key = key, .needs_counts = true};
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> out_degrees,
                        OutDegrees(job.dataset.graph()));
  FGNN_ASSIGN_OR_RETURN(const PolicyHotness found,
                        source.policy == HotnessPolicy::kPlugin
                            ? HotnessOfPlugin(spec, job, options.plugins)
                            : HotnessOf(source, job, out_degrees, options));
  if (!found.estimator.empty()) {
    LogInfo("cache.policy auto: {} of {} epochs", found.estimator,
            found.num_epochs);
  }
  FGNN_RETURN_IF_ERROR(RankOrder::Save(
      job.dataset, key, OrderByHotness(found.hotness, out_degrees)));
  return RankOrderFacts{.key = key};
}

}  // namespace fgnn
