// Loads a user's shared library into this process, whatever kind of plugin it
// is.
#ifndef FGNN_SHARED_PLUGIN_PLUGIN_LIBRARY_H_
#define FGNN_SHARED_PLUGIN_PLUGIN_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace fgnn {

// Names `folder`/lib`name`.so, and the job's field `field` that chose it.
struct PluginName {
  std::filesystem::path folder;
  std::string name;
  std::string field;  // "sampling.plugin"
};

// Returns the path of the file, whether it exists or not.
std::filesystem::path PathOf(const PluginName& plugin);

// Calls `work`, which is a plugin's code. Aborted, with the plugin's message:
// it threw.
template <typename Work>
absl::Status CallPlugin(const std::string& name, const Work& work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const std::exception& thrown) {
    return absl::AbortedError(
        absl::StrCat("plugin '", name, "' threw: ", thrown.what()));
  } catch (...) {
    return absl::AbortedError(absl::StrCat("plugin '", name, "' threw"));
  }
}

// The library stays loaded as long as this object lives. Objects that the
// library made must not outlive it.
class PluginLibrary {
 public:
  // Opens a library that exports `symbol`, an Entry, made by `macro`.
  // NotFound           there is none; names the plugins of the folder.
  // PermissionDenied   the file or its folder is not this user's or root's,
  //                    others may write it, or it is no plain file.
  // FailedPrecondition it cannot be loaded, is no such plugin, or is of another
  //                    version.
  template <typename Entry>
  static absl::StatusOr<std::unique_ptr<PluginLibrary>> Open(
      const PluginName& plugin, const char* symbol, const char* macro,
      uint32_t version) {
    // Every Entry begins with its version.
    static_assert(offsetof(Entry, version) == 0);
    return OpenAny(plugin, symbol, macro, version);
  }
  ~PluginLibrary();
  PluginLibrary(const PluginLibrary&) = delete;
  PluginLibrary& operator=(const PluginLibrary&) = delete;

  template <typename Entry>
  const Entry& entry() const {
    return *static_cast<const Entry*>(entry_);
  }

 private:
  PluginLibrary(void* library, const void* entry)
      : library_(library), entry_(entry) {}
  static absl::StatusOr<std::unique_ptr<PluginLibrary>> OpenAny(
      const PluginName& plugin, const char* symbol, const char* macro,
      uint32_t version);

  void* const library_;
  const void* const entry_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_PLUGIN_PLUGIN_LIBRARY_H_
