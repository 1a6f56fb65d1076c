// A cache policy that the user wrote.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_RANKING_PLUGIN_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_RANKING_PLUGIN_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sampler_service/plugin/cache_plugin.h"

namespace fgnn {

// Returns the hotness [N] that the plugin `folder`/lib`name`.so gives. Errors:
// those of PluginLibrary::Open(). Aborted: the plugin threw. InvalidArgument: a
// hotness is NaN, or their number is not the number of vertices.
absl::StatusOr<std::vector<float>> HotnessByPlugin(
    const std::filesystem::path& folder, const std::string& name,
    const CachePluginJob& job);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_RANKING_PLUGIN_H_
