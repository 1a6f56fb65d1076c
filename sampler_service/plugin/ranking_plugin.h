// A cache policy of the user's own.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_RANKING_PLUGIN_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_RANKING_PLUGIN_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sampler_service/plugin/cache_plugin.h"

namespace fgnn {

// [N] what `folder`/lib`name`.so says. Errors of PluginLibrary::Open();
// Aborted: it threw; InvalidArgument: a NaN, or hotness of another number of
// vertices.
absl::StatusOr<std::vector<float>> HotnessByPlugin(
    const std::filesystem::path& folder, const std::string& name,
    const CachePluginJob& job);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_RANKING_PLUGIN_H_
