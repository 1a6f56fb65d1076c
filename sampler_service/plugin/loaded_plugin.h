// A sampler plugin that the user wrote.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sampler_service/plugin/sampler_plugin.h"
#include "shared/base/threads/mutex.h"
#include "shared/plugin/plugin_library.h"

namespace fgnn {

// The library stays loaded as long as this object lives; instances must not
// outlive it. Thread-safe.
class LoadedPlugin {
 public:
  using Instance =
      std::unique_ptr<SamplerPlugin, std::function<void(SamplerPlugin*)>>;

  // Opens `folder`/lib`name`.so. Errors: those of PluginLibrary::Open().
  static absl::StatusOr<std::unique_ptr<LoadedPlugin>> Open(
      const std::filesystem::path& folder, const std::string& name);
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  const std::string& name() const { return name_; }

  // Returns a new instance. Aborted, with the plugin's message: the plugin
  // threw.
  absl::StatusOr<Instance> NewInstance() const;

  // Counts the calls of one instance. The instance's user adds one before and
  // one after each call, on one thread. The count is odd during a call.
  using CallCount = std::atomic<uint64_t>;
  // Returns a new count, which lives as long as this object.
  CallCount& NewCallCount() const;
  struct Calls {
    uint64_t count = 0;         // The sum of all counts.
    bool is_under_way = false;  // Whether some instance is in a call.
  };
  // Returns the state of the calls, for a watch over calls that do not return.
  Calls calls() const;

 private:
  LoadedPlugin(std::string name, std::unique_ptr<PluginLibrary> library)
      : name_(std::move(name)), library_(std::move(library)) {}

  std::string name_;
  std::unique_ptr<PluginLibrary> library_;
  mutable Mutex mutex_;
  mutable std::deque<CallCount> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_LOADED_PLUGIN_H_
