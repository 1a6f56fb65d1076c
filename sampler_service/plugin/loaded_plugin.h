// A plugin's library in this process.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "sampler_service/plugin/sampler_plugin.h"

namespace fgnn {

// Stays loaded as long as it lives; instances must not outlive it. Thread-safe.
class LoadedPlugin {
 public:
  using Instance =
      std::unique_ptr<SamplerPlugin, std::function<void(SamplerPlugin*)>>;

  // `folder`/lib`name`.so.
  // NotFound           there is none; says which there are.
  // FailedPrecondition it cannot be loaded, is no plugin, or of another
  // version.
  static absl::StatusOr<std::unique_ptr<LoadedPlugin>> Open(
      const std::filesystem::path& folder, const std::string& name);
  ~LoadedPlugin();
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  const std::string& name() const { return name_; }

  // Aborted, with its message: the plugin threw.
  absl::StatusOr<Instance> NewInstance() const;

 private:
  LoadedPlugin(std::string name, void* library, const SamplerPluginEntry* entry)
      : name_(std::move(name)), library_(library), entry_(entry) {}

  std::string name_;
  void* library_;
  const SamplerPluginEntry* entry_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_
