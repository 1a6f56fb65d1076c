#include "sampler_service/plugin/loaded_plugin.h"

#include "absl/memory/memory.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<LoadedPlugin>> LoadedPlugin::Open(
    const std::filesystem::path& folder, const std::string& name) {
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<PluginLibrary> library,
      PluginLibrary::Open<SamplerPluginEntry>(
          {.folder = folder, .name = name, .field = "sampling.plugin"},
          "fgnn_sampler_plugin", "FGNN_SAMPLER_PLUGIN", kSamplerPluginVersion));
  return absl::WrapUnique(new LoadedPlugin(name, std::move(library)));
}

absl::StatusOr<LoadedPlugin::Instance> LoadedPlugin::NewInstance() const {
  const auto& entry = library_->entry<SamplerPluginEntry>();
  Instance instance;
  FGNN_RETURN_IF_ERROR(CallPlugin(
      name_, [&] { instance = Instance(entry.create(), entry.destroy); }));
  return instance;
}

}  // namespace fgnn
