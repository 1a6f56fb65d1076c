#include "tests/bench/baselines/bare_loop.h"

#include <variant>
#include <vector>

#include "sampler_service/sampling/epoch_seeds.h"
#include "shared/base/clock.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kPrefetched = 128;

template <typename Index>
class BareLoop final : public Sampler {
 public:
  BareLoop(const SamplerInput& input, absl::Span<const Index> indices,
           const SamplerOptions& options)
      : options_(options),
        indptr_(input.graph.indptr),
        indices_(indices),
        epoch_seeds_(input, options_),
        table_(input.graph.num_nodes()) {
    nodes_.resize(epoch_seeds_.most_ids());
  }

  absl::StatusOr<SampledTask> SampleAs(const OrderedBatch& batch,
                                       absl::Span<std::byte>) override {
    SampledTask task;
    Stopwatch watch;
    nodes_.resize(epoch_seeds_.most_ids());
    FGNN_ASSIGN_OR_RETURN(
        const DrawnSeeds seeds,
        epoch_seeds_.Draw(epoch_seeds_.PlaceOf(batch.drawn), nodes_.data()));
    task.num_seeds = seeds.num_ids;
    nodes_.resize(task.num_seeds);
    ++stamp_;
    for (uint32_t i = 0; i < task.num_seeds; ++i) {
      table_[nodes_[i]] = {stamp_, i};
    }
    for (const int32_t fanout : options_.fanouts) {
      Draw(static_cast<uint64_t>(fanout));
      Gather();
      task.seconds.sample += static_cast<float>(watch.Restart());
      MapIds();
      task.seconds.id_map += static_cast<float>(watch.Restart());
      task.num_edges += edges_.size();
    }
    task.num_input_nodes = static_cast<uint32_t>(nodes_.size());
    return task;
  }
  uint64_t workspace_bytes() const override { return 0; }
  uint64_t progress() const override { return 0; }
  absl::Status MarkBy(const HotRanks&) override {
    return absl::UnimplementedError("a baseline makes no marks");
  }

 private:
  struct Entry {
    uint32_t stamp;
    uint32_t local_id;
  };

  uint64_t Below(uint64_t range) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return UniformBelow(state_ * 0x2545f4914f6cdd1du, range);
  }

  void Draw(uint64_t fanout) {
    places_.clear();
    offsets_.assign(1, 0);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (i + 32 < nodes_.size()) {
        __builtin_prefetch(&indptr_[nodes_[i + 32]]);
      }
      const EdgeOffset begin = indptr_[nodes_[i]];
      const auto degree =
          static_cast<uint64_t>(indptr_[nodes_[i] + size_t{1}] - begin);
      const size_t first = places_.size();
      if (degree <= fanout) {
        for (uint64_t j = 0; j < degree; ++j) {
          places_.push_back(begin + static_cast<EdgeOffset>(j));
        }
      } else {
        for (uint64_t last = degree - fanout; last < degree; ++last) {
          auto place = begin + static_cast<EdgeOffset>(Below(last + 1));
          bool repeats = false;
          for (size_t k = first; k < places_.size(); ++k) {
            repeats |= places_[k] == place;
          }
          if (repeats) place = begin + static_cast<EdgeOffset>(last);
          places_.push_back(place);
        }
      }
      offsets_.push_back(static_cast<uint32_t>(places_.size()));
    }
  }

  void Gather() {
    edges_.resize(places_.size());
    for (size_t e = 0; e < places_.size(); ++e) {
      if (e + kPrefetched < places_.size()) {
        __builtin_prefetch(
            &indices_[static_cast<size_t>(places_[e + kPrefetched])]);
      }
      edges_[e] =
          static_cast<uint32_t>(indices_[static_cast<size_t>(places_[e])]);
    }
  }

  void MapIds() {
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (e + kPrefetched < edges_.size()) {
        __builtin_prefetch(&table_[edges_[e + kPrefetched]], 1);
      }
      Entry& entry = table_[edges_[e]];
      if (entry.stamp != stamp_) {
        entry = {stamp_, static_cast<uint32_t>(nodes_.size())};
        nodes_.push_back(edges_[e]);
      }
      edges_[e] = entry.local_id;
    }
  }

  SamplerOptions options_;
  absl::Span<const EdgeOffset> indptr_;
  absl::Span<const Index> indices_;
  EpochSeeds epoch_seeds_;
  std::vector<Entry> table_;
  uint32_t stamp_ = 0;
  uint64_t state_ = 88172645463325252u;
  std::vector<GlobalId> nodes_;
  std::vector<EdgeOffset> places_;
  std::vector<uint32_t> offsets_;
  std::vector<uint32_t> edges_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> NewBareLoop(
    const SamplerInput& input, const SamplerOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(input, options));
  for (const int32_t fanout : options.fanouts) {
    if (fanout < 0) {
      return absl::InvalidArgumentError(
          "--baseline bare-loop takes no fanout of -1");
    }
  }
  return std::visit(
      [&](auto indices) -> absl::StatusOr<std::unique_ptr<Sampler>> {
        using Index = typename decltype(indices)::value_type;
        return std::make_unique<BareLoop<Index>>(input, indices, options);
      },
      input.graph.indices);
}

}  // namespace fgnn
