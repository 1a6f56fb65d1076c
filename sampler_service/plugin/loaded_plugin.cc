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

LoadedPlugin::CallCount& LoadedPlugin::NewCallCount() const {
  const MutexLock lock(&mutex_);
  return counts_.emplace_back(0);
}

LoadedPlugin::Calls LoadedPlugin::calls() const {
  const MutexLock lock(&mutex_);
  Calls calls;
  for (const CallCount& count : counts_) {
    const uint64_t seen = count.load(std::memory_order_relaxed);
    calls.count += seen;
    calls.is_under_way |= seen % 2 == 1;
  }
  return calls;
}

}  // namespace fgnn
