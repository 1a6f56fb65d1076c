// A sampler of the user's own.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "sampler_service/plugin/sampler_plugin.h"
#include "shared/plugin/plugin_library.h"

namespace fgnn {

// Stays loaded as long as it lives; instances must not outlive it. Thread-safe.
class LoadedPlugin {
 public:
  using Instance =
      std::unique_ptr<SamplerPlugin, std::function<void(SamplerPlugin*)>>;

  // `folder`/lib`name`.so. Errors of PluginLibrary::Open().
  static absl::StatusOr<std::unique_ptr<LoadedPlugin>> Open(
      const std::filesystem::path& folder, const std::string& name);
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  const std::string& name() const { return name_; }

  // Aborted, with its message: the plugin threw.
  absl::StatusOr<Instance> NewInstance() const;

  // The calls of one instance: its user adds one before each call and one
  // behind it, on one thread, so that the count is odd during a call.
  using CallCount = std::atomic<uint64_t>;
  // A new count, which lives as long as this.
  CallCount& NewCallCount() const;
  struct Calls {
    uint64_t count = 0;         // The sum of all counts.
    bool is_under_way = false;  // Some instance is in a call.
  };
  // For a watch over calls that do not return.
  Calls calls() const;

 private:
  LoadedPlugin(std::string name, std::unique_ptr<PluginLibrary> library)
      : name_(std::move(name)), library_(std::move(library)) {}

  std::string name_;
  std::unique_ptr<PluginLibrary> library_;
  mutable std::mutex mutex_;
  mutable std::deque<CallCount> counts_;  // Guarded by mutex_.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_
