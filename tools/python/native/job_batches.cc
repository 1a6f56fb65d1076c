#include "tools/python/native/job_batches.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/features/cpu/open_feature_store.h"

namespace fgnn {
namespace {

absl::Status NeedsService(const std::string& field, const std::string& value) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value,
                   " needs the service: submit the job with fgnn.Client(), or "
                   "leave the field out"));
}

absl::Status CheckFields(const JobSpec& spec) {
  if (spec.sampling.kind == "plugin") {
    return NeedsService("sampling.kind", "plugin");
  }
  if (spec.training.parts > 1) {
    return NeedsService("training.parts", absl::StrCat(spec.training.parts));
  }
  if (spec.training.has_own_seeds()) {
    return NeedsService("training.seeds", "own");
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const int64_t>> SplitOf(const Dataset& dataset,
                                                  const std::string& split) {
  if (split == "train") return dataset.train();
  if (split == "valid") return dataset.valid();
  if (split == "test") return dataset.test();
  return absl::InvalidArgumentError(absl::StrCat(
      "split: there is no '", split, "'; it is train, valid or test"));
}

// Copies a split, or checks the seeds of the user.
absl::Status SetSeeds(const Dataset& dataset, JobBatchesOptions& options) {
  if (options.seeds.empty()) {
    FGNN_ASSIGN_OR_RETURN(const absl::Span<const int64_t> split,
                          SplitOf(dataset, options.split));
    if (split.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "split: ", dataset.name(), " has no vertices in '", options.split,
          "'; name another split, or give the ids "
          "of vertices"));
    }
    options.seeds.assign(split.begin(), split.end());
    return absl::OkStatus();
  }
  std::vector<int64_t> sorted = options.seeds;
  std::sort(sorted.begin(), sorted.end());
  const auto num_nodes = static_cast<int64_t>(dataset.num_nodes());
  if (sorted.front() < 0 || sorted.back() >= num_nodes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "split: ", sorted.front() < 0 ? sorted.front() : sorted.back(),
        " is not a vertex of ", dataset.name(), ", which has ", num_nodes,
        " vertices"));
  }
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("split: vertex ", *twice,
                     " is there twice; a batch cannot have a seed "
                     "twice"));
  }
  return absl::OkStatus();
}

// Link prediction draws its seeds from edges.
absl::Status CheckNoSeeds(const JobBatchesOptions& options) {
  if (options.seeds.empty() && options.split == "train") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "split: batches of link_prediction are of the training edges; leave "
      "split out");
}

// Lists the edges of a hop whose edges are those of the whole batch.
void ListEdges(const BlockView& hop, int64_t* edges) {
  const size_t num_edges = hop.indices.size();
  for (size_t e = 0; e < num_edges; ++e) edges[e] = hop.indices[e];
  int64_t* const destinations = edges + num_edges;
  for (uint32_t v = 0; v < hop.num_destinations; ++v) {
    std::fill(destinations + hop.indptr[v], destinations + hop.indptr[v + 1],
              int64_t{v});
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobBatches>> JobBatches::Open(
    JobBatchesOptions options) {
  const JobSpec& spec = options.spec;
  FGNN_RETURN_IF_ERROR(CheckFields(spec));
  FGNN_ASSIGN_OR_RETURN(const ValidatedFolder validated,
                        ValidateOnce(spec.dataset, options.state_dir));
  FGNN_ASSIGN_OR_RETURN(
      JobSampling sampling,
      OpenJobSampling(spec, {.num_threads = options.num_threads,
                             .state_dir = options.state_dir,
                             .has_other_seeds = true}));
  sampling.options.shuffle = options.shuffle;
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(sampling.dataset));
  if (spec.training.predicts_links()) {
    FGNN_RETURN_IF_ERROR(CheckNoSeeds(options));
  } else {
    FGNN_RETURN_IF_ERROR(SetSeeds(sampling.dataset, options));
  }
  auto source = std::unique_ptr<JobBatches>(
      new JobBatches(std::move(options), std::move(sampling)));
  source->content_ = validated.content;
  const JobSampling& job = source->sampling_;
  FGNN_RETURN_IF_ERROR(Validate(source->input(), job.options));
  source->bound_bytes_ = MaxTaskBytesOf(job.dataset.graph(), job.options);
  if (source->options_.reads_features && job.dataset.features().columns > 0) {
    FGNN_ASSIGN_OR_RETURN(
        source->features_,
        OpenFeatureStore(job.dataset, source->options_.spec.features));
  }
  if (job.order.has_value()) {
    MatchedOrderOptions order = *job.order;
    order.batches_per_epoch = source->batches_per_epoch();
    FGNN_ASSIGN_OR_RETURN(
        source->order_,
        MatchedOrder::Create(source->input(), job.options, order));
  }
  FGNN_RETURN_IF_ERROR(source->CheckUnchanged());
  return source;
}

SamplerInput JobBatches::input() const {
  SamplerInput input = sampling_.input();
  if (!options_.seeds.empty()) input.train = options_.seeds;
  return input;
}

uint32_t JobBatches::num_columns() const {
  return features_ == nullptr ? 0
                              : static_cast<uint32_t>(features_->num_columns());
}

bool JobBatches::has_labels() const {
  return !spec().training.predicts_links() && !dataset().labels().empty();
}

uint32_t JobBatches::num_targets() const {
  return spec().training.predicts_links() ? 0 : dataset().num_targets();
}

absl::StatusOr<ThreadSampler> JobBatches::NewSampler() const {
  ThreadSampler own;
  FGNN_ASSIGN_OR_RETURN(own.sampler,
                        sampling_.factory(input(), sampling_.options));
  own.tells_places = options_.lists_edges && own.sampler->KeepEdgePlaces();
  return own;
}

absl::Status JobBatches::Make(BatchSeq seq, const ThreadSampler& own,
                              absl::FunctionRef<absl::Status()> check,
                              LoadedBatch* batch) const {
  Sampler& sampler = *own.sampler;
  OrderedBatch ordered = {.seq = seq, .drawn = seq};
  if (order_ != nullptr) {
    FGNN_ASSIGN_OR_RETURN(ordered.drawn, order_->DrawnOf(seq, sampler, check));
  }
  FGNN_RETURN_IF_ERROR(batch->memory.SampleAs(sampler, ordered).status());
  batch->task = ViewOfTask(batch->memory.bytes());
  const TaskView& task = batch->task;
  const size_t num_nodes = task.input_nodes.size();
  std::copy(task.input_nodes.begin(), task.input_nodes.end(),
            batch->nodes.Reserve(num_nodes));
  if (features_ != nullptr) {
    FGNN_RETURN_IF_ERROR(features_->CopyRows(
        task.input_nodes,
        batch->features.Reserve(num_nodes * features_->num_columns())));
  }
  if (options_.lists_edges) {
    const BlockView& last = task.hops[static_cast<size_t>(task.num_hops) - 1];
    ListEdges(last, batch->edges.Reserve(2 * last.indices.size()));
  }
  const absl::Span<const EdgeOffset> places = sampler.edge_places();
  batch->has_edge_places = own.tells_places;
  if (own.tells_places) {
    std::copy(places.begin(), places.end(),
              batch->edge_places.Reserve(places.size()));
  }
  return Answer(batch);
}

absl::Status JobBatches::Answer(LoadedBatch* batch) const {
  const absl::Span<const uint32_t> seeds = batch->task.seeds();
  if (has_labels()) {
    const absl::Span<const int64_t> labels = dataset().labels();
    int64_t* const out = batch->labels.Reserve(seeds.size());
    for (size_t i = 0; i < seeds.size(); ++i) {
      out[i] = labels[seeds[i]];
      // -1: a seed of the user's own may have no label.
      if (out[i] == -1) continue;
      FGNN_RETURN_IF_ERROR(ReadLabelOf(dataset().graph().places, labels,
                                       seeds[i], dataset().num_classes())
                               .status());
    }
  }
  if (const uint32_t columns = num_targets(); columns > 0) {
    float* const out = batch->targets.Reserve(seeds.size() * columns);
    for (size_t i = 0; i < seeds.size(); ++i) {
      dataset().targets().Read(seeds[i], out + i * columns);
    }
  }
  return absl::OkStatus();
}

absl::Status JobBatches::CheckUnchanged() const {
  if (FingerprintOf(dataset().folder()) == dataset().Fingerprint()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(dataset().folder().string(),
                   " has changed since the loader was made; make it again"));
}

}  // namespace fgnn
