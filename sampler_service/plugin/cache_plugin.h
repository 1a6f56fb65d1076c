// Cache policies of your own. Derive from CachePlugin, name the class in
// FGNN_CACHE_PLUGIN, and build a shared library lib<name>.so. Put it into the
// folder plugins/ of the service's state folder, and write into the job
//
//   cache: {policy: plugin, plugin: <name>, capacity: 0.1}
//
// A plugin includes only this header and plugin_graph.h; it links nothing of
// FGNN. Build it with the compiler that FGNN was built with.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_CACHE_PLUGIN_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_CACHE_PLUGIN_H_

#include <cstdint>
#include <vector>

#include "sampler_service/plugin/plugin_graph.h"

namespace fgnn {

// Version of the interface. Raised whenever anything in this header or
// plugin_graph.h changes.
inline constexpr uint32_t kCachePluginVersion = 1;

// The job's data that a policy may read.
struct CachePluginJob {
  const PluginGraph* graph = nullptr;
  std::vector<uint32_t> train;  // Distinct training vertices.
  // Neighbours per hop, first hop first; -1: all.
  std::vector<int32_t> fanouts;
  uint32_t batch_size = 0;  // Number of seeds of a batch.
};

class CachePlugin {
 public:
  virtual ~CachePlugin() = default;

  // Fills in hotness [num_nodes], which is 0 before the call. Trainers cache
  // the vertices of the highest hotness; of equal ones, those that are
  // in-neighbours more often. No value may be NaN. The result must depend on
  // the arguments alone, as the order is saved with the dataset. An exception
  // ends the job with its message.
  virtual void Rank(const CachePluginJob& job, std::vector<float>* hotness) = 0;
};

using CachePluginEntry = PluginEntry<CachePlugin>;

}  // namespace fgnn

#define FGNN_CACHE_PLUGIN(Class) \
  FGNN_PLUGIN_ENTRY_(Class, CachePlugin, fgnn_cache_plugin, kCachePluginVersion)

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_CACHE_PLUGIN_H_
