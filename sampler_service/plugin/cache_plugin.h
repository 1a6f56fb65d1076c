// Cache policies of your own: derive from CachePlugin, name the class in
// FGNN_CACHE_PLUGIN, build a shared library lib<name>.so, put it into the
// folder plugins/ of the service's state folder, and write into the job
//
//   cache: {policy: plugin, plugin: <name>, capacity: 0.1}
//
// This header and plugin_graph.h are all that a plugin includes; it links
// nothing of FGNN. Build it with the compiler that FGNN was built with.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_CACHE_PLUGIN_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_CACHE_PLUGIN_H_

#include <cstdint>
#include <vector>

#include "sampler_service/plugin/plugin_graph.h"

namespace fgnn {

// Raised whenever anything in this header or plugin_graph.h changes.
inline constexpr uint32_t kCachePluginVersion = 1;

// What a policy may look at.
struct CachePluginJob {
  const PluginGraph* graph = nullptr;
  std::vector<uint32_t> train;   // Distinct vertices.
  std::vector<int32_t> fanouts;  // Per hop, first hop first; -1: all.
  uint32_t batch_size = 0;       // Seeds.
};

class CachePlugin {
 public:
  virtual ~CachePlugin() = default;

  // hotness [num_nodes], 0 before: trainers cache the vertices of the highest,
  // of equals those that are in-neighbours more often. None may be NaN. It is a
  // function of its arguments alone, as the order is saved with the dataset. An
  // exception ends the job with its message.
  virtual void Rank(const CachePluginJob& job, std::vector<float>* hotness) = 0;
};

// What a plugin exports.
struct CachePluginEntry {
  uint32_t version;
  CachePlugin* (*create)();
  void (*destroy)(CachePlugin*);
};

}  // namespace fgnn

#define FGNN_CACHE_PLUGIN(Class)                            \
  extern "C" __attribute__((visibility("default")))         \
  const ::fgnn::CachePluginEntry fgnn_cache_plugin;         \
  const ::fgnn::CachePluginEntry fgnn_cache_plugin = {      \
      ::fgnn::kCachePluginVersion,                          \
      []() -> ::fgnn::CachePlugin* { return new Class(); }, \
      [](::fgnn::CachePlugin* plugin) { delete plugin; }}

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_CACHE_PLUGIN_H_
