#include "sampler_service/job/job_sampling.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "sampler_service/job/job_book.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "shared/graph/book/partition_book.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

absl::Span<const std::byte> BytesOf(const CscView& graph) {
  return std::visit(
      [](auto indices) {
        return absl::Span<const std::byte>(
            reinterpret_cast<const std::byte*>(indices.data()),
            indices.size() * sizeof(*indices.data()));
      },
      graph.indices);
}

// Tells the kernel how to read the topology from disk. A topology that fits
// into memory is read in large pieces when samplers touch it. A larger topology
// would be read again and again, so the kernel then reads only the touched
// pages.
absl::Status PrepareTopology(const Dataset& dataset) {
  const absl::Span<const std::byte> indices = BytesOf(dataset.graph());
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
  if (indices.size() <= available) return absl::OkStatus();
  LogWarning(
      "the topology of {} has {} and {} of memory are left: what is sampled is "
      "read from the disk, and kept as long as there is room",
      dataset.name(), FormatBytes(indices.size()), FormatBytes(available));
  return AdviseRandomReads(indices);
}

}  // namespace

absl::StatusOr<TrainParts> ReadTrainParts(const Dataset& dataset) {
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book, OpenJobBook(dataset));
  TrainParts train = {.book = book.key()};
  FGNN_ASSIGN_OR_RETURN(train.part_of, PartsOfTrain(book, dataset));
  return train;
}

absl::StatusOr<JobSampling> OpenJobSampling(const JobSpec& spec,
                                            const JobSamplingOptions& wanted) {
  const SamplingSpec& sampling = spec.sampling;
  FGNN_ASSIGN_OR_RETURN(const SamplingAlgorithm algorithm,
                        SamplingAlgorithmOf(sampling.kind));
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  dataset.FindDerivedIn(wanted.state_dir);
  FGNN_RETURN_IF_ERROR(PrepareTopology(dataset));
  SamplerOptions options;
  options.algorithm = algorithm;
  options.fanouts = sampling.fanouts;
  options.batch_size = sampling.batch_size;
  options.batch_dependency = sampling.batch_dependency;
  if (spec.training.predicts_links()) {
    options.negatives = spec.training.negatives;
    options.exclude_seed_edges = spec.training.exclude_seed_edges;
  }
  options.seed = spec.training.seed;
  options.job_key = wanted.job_key;
  options.replace = sampling.replace;
  options.resample = sampling.resample;
  options.walks = {.num_walks = sampling.num_walks,
                   .length = sampling.walk_length,
                   .restart = sampling.walk_restart};
  JobSampling job = {.dataset = std::move(dataset),
                     .options = std::move(options),
                     .factory = wanted.factory != nullptr
                                    ? wanted.factory
                                    : SamplerFactory(NewCpuSampler),
                     .weights = nullptr,
                     .plugin = nullptr};
  if (algorithm == SamplingAlgorithm::kWeighted) {
    FGNN_ASSIGN_OR_RETURN(
        AliasTables weights,
        AliasTables::Open(job.dataset, sampling.weights, wanted.num_threads));
    job.weights = std::make_unique<AliasTables>(std::move(weights));
  }
  if (algorithm == SamplingAlgorithm::kPlugin) {
    FGNN_ASSIGN_OR_RETURN(job.plugin,
                          LoadedPlugin::Open(wanted.plugins, sampling.plugin));
  }
  if (wanted.seeds.are_own()) {
    FGNN_RETURN_IF_ERROR(
        CheckSeedShares(wanted.seeds, spec.training.batches_per_step));
    FGNN_ASSIGN_OR_RETURN(const TrainParts train, ReadTrainParts(job.dataset));
    FGNN_RETURN_IF_ERROR(CheckSameBook(wanted.seeds, train.book, spec.dataset));
    job.own_seeds = std::make_unique<OwnSeeds>(train.part_of, wanted.seeds);
  }
  if (!wanted.has_other_seeds) {
    FGNN_RETURN_IF_ERROR(Validate(job.input(), job.options));
  }
  if (const uint32_t window = sampling.matched_window(); window > 0) {
    job.order = {.batches_per_epoch = job.batches_per_epoch(),
                 .window = window,
                 .chains = spec.training.batches_per_step};
  }
  return job;
}

}  // namespace fgnn
