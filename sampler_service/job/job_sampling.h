// The data from which the samplers of a job sample.
#ifndef FGNN_SAMPLER_SERVICE_JOB_JOB_SAMPLING_H_
#define FGNN_SAMPLER_SERVICE_JOB_JOB_SAMPLING_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "sampler_service/order/matched_order.h"
#include "sampler_service/plugin/loaded_plugin.h"
#include "sampler_service/sampling/alias_tables.h"
#include "sampler_service/sampling/own_seeds.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/config/job_spec.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/book/seed_shares.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Immutable once open; safe to use from any thread. Holds the mapped dataset.
struct JobSampling {
  Dataset dataset;
  SamplerOptions options;
  SamplerFactory factory;
  std::unique_ptr<const AliasTables> weights;  // Null but for khop_weighted.
  std::unique_ptr<const LoadedPlugin> plugin;  // Null but for kind plugin.
  // Null: every batch draws its seeds from all train vertices.
  std::unique_ptr<const OwnSeeds> own_seeds = nullptr;
  // Order of the batches; nullopt: as they are drawn.
  std::optional<MatchedOrderOptions> order = std::nullopt;
  // Book by which a batch is split into parts; null: batches are whole.
  std::unique_ptr<const PartitionBook> book = nullptr;

  // Returns the samplers' input, which borrows from this object.
  SamplerInput input() const {
    return {.graph = dataset.graph(),
            .train = dataset.train(),
            .weights = weights.get(),
            .plugin = plugin.get(),
            .edge_weights = dataset.edge_weights(),
            .train_edges = dataset.train_edges(),
            .own_seeds = own_seeds.get()};
  }
  uint64_t batches_per_epoch() const {
    return BatchesPerEpoch(input(), options);
  }
  // Returns the bytes of the tables by which a sampler orders batches.
  uint64_t order_bytes() const {
    return order.has_value() ? WindowOverlap::BytesFor(dataset.num_nodes()) : 0;
  }
};

struct JobSamplingOptions {
  uint64_t job_key = 0;  // Key of the job, which samplers write into tasks.
  // Number of threads that make alias tables which are not saved yet.
  uint32_t num_threads = 1;
  std::filesystem::path plugins = {};  // Folder of the plugins.
  // The service's folder, where derived files may be; empty: none.
  std::filesystem::path state_dir = {};
  // Factory of the device's samplers; empty: NewCpuSampler().
  SamplerFactory factory = nullptr;
  // Shares of training.seeds own; without a book, batches draw their seeds from
  // all train vertices.
  SeedShares seeds = {};
  // Whether the caller samples other seeds than the train vertices. It then
  // calls Validate() itself.
  bool has_other_seeds = false;
};
// Opens the data of a job. The scheduler has validated the dataset; this
// function only checks types and shapes. Returns errors of Dataset::Open(),
// AliasTables::Open(), LoadedPlugin::Open() and Validate(). InvalidArgument:
// the algorithm is not known. FailedPrecondition: the shares are of another
// book than the dataset's.
absl::StatusOr<JobSampling> OpenJobSampling(const JobSpec& spec,
                                            const JobSamplingOptions& options);

// The fine parts of a job's train vertices.
struct TrainParts {
  uint64_t book = 0;                  // PartitionBook::key()
  std::vector<uint8_t> part_of = {};  // Fine part of each train vertex.
};
// Reads them for training.seeds own. Errors: those of OpenJobBook().
absl::StatusOr<TrainParts> ReadTrainParts(const Dataset& dataset);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_JOB_JOB_SAMPLING_H_
