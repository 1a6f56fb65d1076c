// Hops that a user's plugin draws (plugin/sampler_plugin.h), by the plugin's
// own law. The plugin draws for one destination after the other. Its edges are
// checked, collected, and then written to the task.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_PLUGIN_HOPS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_PLUGIN_HOPS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"

namespace fgnn {

// Errors: those of LoadedPlugin::NewInstance(). Sample() returns Aborted,
// naming the plugin, where the plugin throws, gives more edges than it may, or
// gives an id that is no vertex.
absl::StatusOr<std::unique_ptr<HopSampler>> NewPluginHops(
    const HopsOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_PLUGIN_HOPS_H_
