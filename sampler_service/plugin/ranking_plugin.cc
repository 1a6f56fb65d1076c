#include "sampler_service/plugin/ranking_plugin.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/plugin/plugin_library.h"

namespace fgnn {
absl::StatusOr<std::vector<float>> HotnessByPlugin(
    const std::filesystem::path& folder, const std::string& name,
    const CachePluginJob& job) {
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<PluginLibrary> library,
      PluginLibrary::Open<CachePluginEntry>(
          {.folder = folder, .name = name, .field = "cache.plugin"},
          "fgnn_cache_plugin", "FGNN_CACHE_PLUGIN", kCachePluginVersion));
  const auto& entry = library->entry<CachePluginEntry>();
  const uint64_t num_nodes = job.graph->num_nodes();
  std::vector<float> hotness(num_nodes);
  FGNN_RETURN_IF_ERROR(CallPlugin(name, [&] {
    const std::unique_ptr<CachePlugin, void (*)(CachePlugin*)> plugin(
        entry.create(), entry.destroy);
    plugin->Rank(job, &hotness);
  }));
  if (hotness.size() != num_nodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin '", name, "' ranked ", hotness.size(), " of ",
                     num_nodes, " vertices"));
  }
  const auto nan = std::find_if(hotness.begin(), hotness.end(),
                                [](float value) { return std::isnan(value); });
  if (nan != hotness.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin '", name, "' says that the hotness of vertex ",
                     nan - hotness.begin(), " is NaN"));
  }
  return hotness;
}

}  // namespace fgnn
