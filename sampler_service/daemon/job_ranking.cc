#include "sampler_service/daemon/job_ranking.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/presample/hotness.h"
#include "sampler_service/presample/input_node_counts.h"
#include "shared/base/file.h"
#include "shared/base/status.h"
#include "shared/graph/hot_order.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<HotnessSource> SourceOf(const JobSpec& spec,
                                       const JobSampling& job) {
  FGNN_ASSIGN_OR_RETURN(const HotnessPolicy policy,
                        HotnessPolicyOf(spec.cache.policy));
  return HotnessSource{.policy = policy,
                       .sampling = job.options,
                       .weights_file = spec.sampling.weights,
                       .plugin = spec.sampling.plugin,
                       .num_epochs = policy == HotnessPolicy::kOptimal
                                         ? spec.training.epochs
                                         : spec.cache.epochs};
}

bool Counts(HotnessPolicy policy) {
  return policy == HotnessPolicy::kPresc || policy == HotnessPolicy::kOptimal;
}

absl::StatusOr<std::vector<float>> SumOf(absl::Span<const fs::path> files,
                                         uint64_t num_nodes) {
  std::vector<float> sums(num_nodes);
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
      sums[v] += static_cast<float>(counts[v]);
    }
  }
  return sums;
}

absl::StatusOr<std::vector<float>> HotnessOf(
    const HotnessSource& source, const Dataset& dataset,
    absl::Span<const fs::path> counts) {
  switch (source.policy) {
    case HotnessPolicy::kDegree:
      return DegreeHotness(dataset.graph());
    case HotnessPolicy::kRandom:
      return RandomHotness(dataset.num_nodes(), kPresampleSeed);
    case HotnessPolicy::kPresc:
    case HotnessPolicy::kOptimal:
      return SumOf(counts, dataset.num_nodes());
    case HotnessPolicy::kVip:
    case HotnessPolicy::kAuto:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "cache.policy '", NameOf(source.policy), "' is none of this build's"));
}

}  // namespace

absl::StatusOr<uint64_t> CountPart(const JobSpec& spec, const JobSampling& job,
                                   const CountPartOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const HotnessSource source, SourceOf(spec, job));
  if (!Counts(source.policy) || options.part >= options.num_parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("cache.policy '", spec.cache.policy, "' has no part ",
                     options.part, " of ", options.num_parts, " to count"));
  }
  SamplerOptions sampling = job.options;
  if (source.policy != HotnessPolicy::kOptimal) sampling.seed = kPresampleSeed;
  const uint64_t num_batches =
      uint64_t{source.num_epochs} * job.batches_per_epoch();
  const auto begin_of = [&](uint64_t part) {
    return num_batches / options.num_parts * part +
           std::min(part, num_batches % options.num_parts);
  };
  const BatchRange range = {begin_of(options.part), begin_of(options.part + 1)};
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> counts,
                        CountInputNodes(job.input(), sampling,
                                        {.batches = range,
                                         .num_threads = options.num_threads,
                                         .factory = job.factory,
                                         .check = options.check}));
  FGNN_RETURN_IF_ERROR(WriteFileAtomically(
      options.path,
      std::string_view(reinterpret_cast<const char*>(counts.data()),
                       counts.size() * sizeof(uint32_t))));
  return range.end - range.begin;
}

absl::StatusOr<HotOrderFacts> MakeHotOrder(const JobSpec& spec,
                                           const JobSampling& job,
                                           absl::Span<const fs::path> counts) {
  FGNN_ASSIGN_OR_RETURN(const HotnessSource source, SourceOf(spec, job));
  const uint64_t key = HotnessKey(source);
  const absl::Status saved = HotOrder::Open(job.dataset, key).status();
  if (saved.ok()) return HotOrderFacts{.key = key};
  if (!absl::IsNotFound(saved)) {
    LogWarning("{}: made again", MessageOf(saved));
  }
  if (Counts(source.policy) && counts.empty()) {
    return HotOrderFacts{.key = key, .needs_counts = true};
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<float> hotness,
                        HotnessOf(source, job.dataset, counts));
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> out_degrees,
                        OutDegrees(job.dataset.graph()));
  FGNN_RETURN_IF_ERROR(
      HotOrder::Save(job.dataset, key, OrderByHotness(hotness, out_degrees)));
  return HotOrderFacts{.key = key};
}

}  // namespace fgnn
