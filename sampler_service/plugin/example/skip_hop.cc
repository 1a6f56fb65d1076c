// An example: each edge leads to a random in-neighbour, or past it to one of
// its own; edges that skip a hop weigh less.
//
//   c++ -std=c++20 -O2 -shared -fPIC -I PREFIX/include/fgnn
//     -o libskip_hop.so skip_hop.cc
//
// in the folder plugins/ of the service's state folder, and in the job
//
//   sampling: {kind: plugin, plugin: skip_hop, fanouts: [10, 5]}
#include "sampler_service/plugin/sampler_plugin.h"

namespace {

class SkipHop : public fgnn::SamplerPlugin {
 public:
  void Sample(const fgnn::PluginGraph& graph, uint32_t v, int32_t fanout,
              fgnn::PluginRandom* random, fgnn::PluginEdges* edges) override {
    const uint64_t degree = graph.degree(v);
    if (degree == 0) return;
    const uint64_t wanted = fanout < 0 ? degree : static_cast<uint64_t>(fanout);
    for (uint64_t i = 0; i < wanted; ++i) {
      const uint32_t u = graph.neighbor(v, random->Below(degree));
      if (random->Uniform() < kStay || graph.degree(u) == 0) {
        edges->Add(u, 1.0F);
      } else {
        edges->Add(graph.neighbor(u, random->Below(graph.degree(u))), 0.5F);
      }
    }
  }

 private:
  static constexpr double kStay = 0.75;
};

}  // namespace

FGNN_SAMPLER_PLUGIN(SkipHop);
