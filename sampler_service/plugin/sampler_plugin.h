// Samplers of your own. Derive from SamplerPlugin, name the class in
// FGNN_SAMPLER_PLUGIN, and build a shared library lib<name>.so. Put it into the
// folder plugins/ of the service's state folder, and write into the job
//
//   sampling: {kind: plugin, plugin: <name>, fanouts: [10, 5]}
//
// A plugin includes only this header, plugin_graph.h and philox.h; it links
// nothing of FGNN. Build it with the compiler that FGNN was built with.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_SAMPLER_PLUGIN_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_SAMPLER_PLUGIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sampler_service/plugin/plugin_graph.h"
#include "shared/base/philox.h"

namespace fgnn {

// Version of the interface. Raised whenever anything in this header changes.
inline constexpr uint32_t kSamplerPluginVersion = 1;

// Random numbers of one destination in one hop of one batch. Every sampler that
// makes the batch gets the same numbers, and with sampling.batch_dependency so
// do the other batches of its window. With any other source of randomness each
// run would make other batches, and so would a sampler that repeats a dead
// sampler's batch.
class PluginRandom {
 public:
  PluginRandom(PhiloxKey key, uint32_t v) : halves_(key, v, /*stream=*/0) {}

  uint64_t Bits() { return halves_.Get(next_++); }
  // Returns a number in [0, range); range >= 1.
  uint64_t Below(uint64_t range) { return UniformBelow(Bits(), range); }
  // Returns a number in [0, 1) with 53 random bits.
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }

 private:
  PhiloxHalves halves_;
  uint32_t next_ = 0;
};

// The edges of one destination.
class PluginEdges {
 public:
  // Adds an edge from any vertex of the graph, a neighbour or not.
  void Add(uint32_t source, float weight = 1.0F) {
    sources.push_back(source);
    weights.push_back(weight);
  }
  uint64_t size() const { return sources.size(); }

  std::vector<uint32_t> sources;
  std::vector<float> weights;
};

// A sampler; each sampling thread has an instance of its own.
class SamplerPlugin {
 public:
  virtual ~SamplerPlugin() = default;

  // Adds the edges of destination v in one hop: at most `fanout` of them. Where
  // `fanout` is -1, at most as many as the degree of v. The result must depend
  // on the arguments alone. An exception ends the job with its message.
  virtual void Sample(const PluginGraph& graph, uint32_t v, int32_t fanout,
                      PluginRandom* random, PluginEdges* edges) = 0;
};

using SamplerPluginEntry = PluginEntry<SamplerPlugin>;

}  // namespace fgnn

#define FGNN_SAMPLER_PLUGIN(Class)                              \
  FGNN_PLUGIN_ENTRY_(Class, SamplerPlugin, fgnn_sampler_plugin, \
                     kSamplerPluginVersion)

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_SAMPLER_PLUGIN_H_
