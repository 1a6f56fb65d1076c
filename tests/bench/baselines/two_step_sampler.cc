#include "tests/bench/baselines/two_step_sampler.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "sampler_service/sampling/epoch_seeds.h"
#include "shared/base/clock.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Largest fanout for which comparing a draw with all before it is cheaper than
// a hash set.
constexpr uint64_t kMaxComparedFanout = 64;

template <typename Index>
class TwoStepSampler final : public Sampler {
 public:
  TwoStepSampler(const SamplerInput& input, absl::Span<const Index> indices,
                 SamplerOptions options)
      : options_(std::move(options)),
        indptr_(input.graph.indptr),
        indices_(indices),
        epoch_seeds_(input, options_),
        seeds_(epoch_seeds_.most_ids()) {}

  absl::StatusOr<SampledTask> SampleAs(const OrderedBatch& batch,
                                       absl::Span<std::byte> block) override;
  uint64_t workspace_bytes() const override {
    return (seeds_.capacity() + nodes_.capacity() + sources_.capacity() +
            destinations_.capacity() + sorted_.capacity()) *
               sizeof(GlobalId) +
           local_ids_.capacity() * sizeof(std::pair<GlobalId, uint32_t>);
  }
  uint64_t progress() const override { return 0; }
  absl::Status MarkBy(const HotRanks&) override {
    return absl::UnimplementedError("a baseline makes no marks");
  }

 private:
  uint32_t LocalIdOf(GlobalId v) {
    const auto [at, is_new] =
        local_ids_.try_emplace(v, static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back(v);
    return at->second;
  }
  absl::Status MapSeeds(BatchPlace place, SampledTask* task);
  void DrawPlaces(PhiloxKey key, GlobalId v, uint64_t degree, uint64_t fanout);
  void DrawPairs(PhiloxKey key, int32_t fanout);
  absl::Status Convert(TaskWriter* writer);

  SamplerOptions options_;
  absl::Span<const EdgeOffset> indptr_;
  absl::Span<const Index> indices_;
  EpochSeeds epoch_seeds_;
  std::vector<GlobalId> seeds_;
  absl::flat_hash_map<GlobalId, uint32_t> local_ids_;
  std::vector<GlobalId> nodes_;  // Global ids by local id.
  std::vector<uint64_t> places_;
  absl::flat_hash_set<uint64_t> drawn_;
  // [edges of the hop]
  std::vector<GlobalId> sources_;
  std::vector<GlobalId> destinations_;
  std::vector<GlobalId> sorted_;
};

template <typename Index>
absl::Status TwoStepSampler<Index>::MapSeeds(BatchPlace place,
                                             SampledTask* task) {
  FGNN_ASSIGN_OR_RETURN(const DrawnSeeds drawn,
                        epoch_seeds_.Draw(place, seeds_.data()));
  task->num_seeds = drawn.num_ids;
  local_ids_.clear();
  nodes_.clear();
  for (uint32_t i = 0; i < task->num_seeds; ++i) LocalIdOf(seeds_[i]);
  return epoch_seeds_.CheckDistinct(place, drawn.num_ids, nodes_.size());
}

// Draws by Floyd's algorithm, in the order of the law.
template <typename Index>
void TwoStepSampler<Index>::DrawPlaces(PhiloxKey key, GlobalId v,
                                       uint64_t degree, uint64_t fanout) {
  places_.clear();
  if (degree <= fanout) {
    for (uint64_t j = 0; j < degree; ++j) places_.push_back(j);
    return;
  }
  drawn_.clear();
  PhiloxBlock block = {};
  for (uint32_t j = 0; j < fanout; ++j) {
    if (j % 2 == 0) block = Philox4x32({v, j / 2, 0, 0}, key);
    const uint32_t* const words = block.words + (j % 2 == 0 ? 0 : 2);
    const uint64_t last = degree - fanout + j;
    const uint64_t place =
        UniformBelow(uint64_t{words[1]} << 32 | words[0], last + 1);
    bool repeats;
    if (fanout <= kMaxComparedFanout) {
      repeats =
          std::find(places_.begin(), places_.end(), place) != places_.end();
    } else {
      repeats = !drawn_.insert(place).second;
      if (repeats) drawn_.insert(last);
    }
    places_.push_back(repeats ? last : place);
  }
}

template <typename Index>
void TwoStepSampler<Index>::DrawPairs(PhiloxKey key, int32_t fanout) {
  const uint64_t most = fanout < 0 ? UINT64_MAX : static_cast<uint64_t>(fanout);
  sources_.clear();
  destinations_.clear();
  for (const GlobalId v : nodes_) {
    const EdgeOffset begin = indptr_[v];
    const auto degree = static_cast<uint64_t>(indptr_[v + uint64_t{1}] - begin);
    DrawPlaces(key, v, degree, most);
    for (const uint64_t place : places_) {
      sources_.push_back(static_cast<GlobalId>(
          indices_[static_cast<uint64_t>(begin) + place]));
      destinations_.push_back(v);
    }
  }
}

template <typename Index>
absl::Status TwoStepSampler<Index>::Convert(TaskWriter* writer) {
  const auto num_destinations = static_cast<uint32_t>(nodes_.size());
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays hop,
                        writer->AddHop(num_destinations, sources_.size()));
  // A counting sort: indptr[i] moves from the begin of list i to its end.
  std::fill_n(hop.indptr, uint64_t{num_destinations} + 1, 0u);
  for (GlobalId& v : destinations_) {
    v = local_ids_.find(v)->second;
    ++hop.indptr[v];
  }
  uint32_t begin = 0;
  for (uint32_t i = 0; i <= num_destinations; ++i) {
    begin += std::exchange(hop.indptr[i], begin);
  }
  sorted_.resize(sources_.size());
  for (size_t e = 0; e < sources_.size(); ++e) {
    sorted_[hop.indptr[destinations_[e]]++] = sources_[e];
  }
  for (uint32_t i = num_destinations; i > 0; --i) {
    hop.indptr[i] = hop.indptr[i - 1];
  }
  hop.indptr[0] = 0;
  for (size_t e = 0; e < sorted_.size(); ++e) {
    hop.indices[e] = LocalIdOf(sorted_[e]);
  }
  writer->SetNumSources(static_cast<uint32_t>(nodes_.size()));
  return absl::OkStatus();
}

template <typename Index>
absl::StatusOr<SampledTask> TwoStepSampler<Index>::SampleAs(
    const OrderedBatch& batch, absl::Span<std::byte> block) {
  SampledTask task;
  Stopwatch watch;
  const BatchPlace place = epoch_seeds_.PlaceOf(batch.drawn);
  FGNN_RETURN_IF_ERROR(MapSeeds(place, &task));
  task.seconds.id_map += static_cast<float>(watch.Restart());
  TaskWriter writer(block, options_.job_key, batch.seq, task.num_seeds);
  for (uint32_t hop = 0; hop < options_.fanouts.size(); ++hop) {
    DrawPairs(KeyOfHop(options_, place, hop), options_.fanouts[hop]);
    task.num_edges += sources_.size();
    task.seconds.sample += static_cast<float>(watch.Restart());
    FGNN_RETURN_IF_ERROR(Convert(&writer));
    task.seconds.id_map += static_cast<float>(watch.Restart());
  }
  task.num_input_nodes = static_cast<uint32_t>(nodes_.size());
  FGNN_ASSIGN_OR_RETURN(uint32_t* const input_nodes,
                        writer.AddInputNodes(task.num_input_nodes));
  std::copy(nodes_.begin(), nodes_.end(), input_nodes);
  task.digest = writer.Finish(task.seconds);
  task.seconds.copy = static_cast<float>(watch.Seconds());
  task.bytes = writer.total_bytes();
  return task;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> NewTwoStepSampler(
    const SamplerInput& input, const SamplerOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(input, options));
  if (options.algorithm != SamplingAlgorithm::kUniform || options.replace ||
      !options.resample) {
    return absl::InvalidArgumentError(
        "--baseline two-step is for --algorithm khop, with neither --replace "
        "nor --no-resample");
  }
  return std::visit(
      [&](auto indices) -> std::unique_ptr<Sampler> {
        using Index = typename decltype(indices)::value_type;
        return std::make_unique<TwoStepSampler<Index>>(input, indices, options);
      },
      input.graph.indices);
}

}  // namespace fgnn
