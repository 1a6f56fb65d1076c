#include "sampler_service/sampling/cpu/plugin_hops.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "sampler_service/plugin/graph_for_plugins.h"
#include "sampler_service/plugin/loaded_plugin.h"
#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

class PluginHops final : public HopSampler {
 public:
  PluginHops(const HopsOptions& options, LoadedPlugin::Instance plugin)
      : options_(options),
        graph_(
            GraphForPlugins(options.input.graph, options.input.edge_weights)),
        plugin_(std::move(plugin)),
        calls_(options.input.plugin->NewCallCount()) {}

  absl::StatusOr<uint64_t> Sample(const HopRequest& request,
                                  MakeRoom make_room) override;
  uint64_t workspace_bytes() const override {
    return sizeof(*this) + (indptr_.capacity() + edges_.sources.capacity() +
                            edges_.weights.capacity()) *
                               sizeof(uint32_t);
  }

 private:
  absl::Status SampleOne(const HopRequest& request, GlobalId v);
  absl::Status Refuse(GlobalId v, const std::string& what) const {
    return absl::AbortedError(absl::StrCat("plugin '",
                                           options_.input.plugin->name(),
                                           "', for vertex ", v, ": ", what));
  }

  HopsOptions options_;
  PluginGraph graph_;
  LoadedPlugin::Instance plugin_;
  LoadedPlugin::CallCount& calls_;
  PluginEdges edges_;  // Edges of the hop so far.
  std::vector<uint32_t> indptr_;
};

absl::Status PluginHops::SampleOne(const HopRequest& request, GlobalId v) {
  // The plugin sees a list that has changed as an empty one.
  FGNN_ASSIGN_OR_RETURN(const EdgeList list,
                        ReadEdgeList(options_.input.graph, v));
  const uint64_t before = edges_.size();
  PluginRandom random(request.key, v);
  // Counts without a locked instruction, as there is one writer.
  const auto count = [this] {
    calls_.store(calls_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
  };
  count();
  const absl::Cleanup behind = count;
  try {
    plugin_->Sample(graph_, v, request.fanout, &random, &edges_);
  } catch (const std::exception& thrown) {
    return Refuse(v, absl::StrCat("it threw: ", thrown.what()));
  } catch (...) {
    return Refuse(v, "it threw");
  }
  if (edges_.size() < before || edges_.weights.size() != edges_.size()) {
    return Refuse(v, "it took edges away; it may only Add() some");
  }
  const uint64_t most =
      request.fanout < 0 ? list.degree : static_cast<uint64_t>(request.fanout);
  if (edges_.size() - before > most) {
    return Refuse(v, absl::StrCat("it gave ", edges_.size() - before,
                                  " edges; at most ", most, " were asked for"));
  }
  for (uint64_t e = before; e < edges_.size(); ++e) {
    if (edges_.sources[e] >= graph_.num_nodes()) {
      return Refuse(
          v, absl::StrCat("it gave vertex ", edges_.sources[e],
                          "; vertices are in [0, ", graph_.num_nodes(),
                          "), unless the dataset changed while it was used"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PluginHops::Sample(const HopRequest& request,
                                            MakeRoom make_room) {
  edges_.sources.clear();
  edges_.weights.clear();
  indptr_.assign(1, 0);
  for (const GlobalId v : request.nodes.subspan(request.first)) {
    progress_.Tick();
    FGNN_RETURN_IF_ERROR(SampleOne(request, v));
    if (edges_.size() > UINT32_MAX) break;  // make_room() returns the error.
    indptr_.push_back(static_cast<uint32_t>(edges_.size()));
  }
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays hop,
                        make_room(edges_.size()));
  std::copy(indptr_.begin(), indptr_.end(), hop.indptr);
  std::copy(edges_.sources.begin(), edges_.sources.end(), hop.indices);
  std::copy(edges_.weights.begin(), edges_.weights.end(), hop.weights);
  return edges_.size();
}

}  // namespace

absl::StatusOr<std::unique_ptr<HopSampler>> NewPluginHops(
    const HopsOptions& options) {
  FGNN_ASSIGN_OR_RETURN(LoadedPlugin::Instance plugin,
                        options.input.plugin->NewInstance());
  return std::make_unique<PluginHops>(options, std::move(plugin));
}

}  // namespace fgnn
