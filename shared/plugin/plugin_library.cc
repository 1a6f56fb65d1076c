#include "shared/plugin/plugin_library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Returns the names of the plugins in `folder`, sorted.
std::vector<std::string> PluginsIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string file = at->path().filename();
    absl::string_view name = file;
    if (absl::ConsumePrefix(&name, "lib") &&
        absl::ConsumeSuffix(&name, ".so")) {
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A plugin's code runs as this user, so no other user may be able to replace
// it.
absl::Status CheckTrusted(const fs::path& folder, const fs::path& path) {
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("look at ", folder.string()));
  }
  FGNN_RETURN_IF_ERROR(
      Annotate(CheckGuarded(folder, info, GuardedOwner::kThisUserOrRoot),
               "plugins' folder"));
  if (::lstat(path.c_str(), &info) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("look at ", path.string()));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "plugin ", path.string(), " is no plain file; copy the library there"));
  }
  return Annotate(CheckGuarded(path, info, GuardedOwner::kThisUserOrRoot),
                  "plugin");
}

}  // namespace

fs::path PathOf(const PluginName& plugin) {
  return plugin.folder / absl::StrCat("lib", plugin.name, ".so");
}

absl::StatusOr<std::unique_ptr<PluginLibrary>> PluginLibrary::OpenAny(
    const PluginName& plugin, const char* symbol, const char* macro,
    uint32_t version) {
  const fs::path path = PathOf(plugin);
  std::error_code error;
  if (plugin.name.empty() || fs::path(plugin.name).filename() != plugin.name ||
      !fs::exists(path, error)) {
    const std::vector<std::string> there = PluginsIn(plugin.folder);
    return absl::NotFoundError(absl::StrCat(
        plugin.field, " is '", plugin.name, "', but there is no ",
        path.string(),
        there.empty()
            ? "; put the plugin's library there"
            : absl::StrCat("; there is ", absl::StrJoin(there, ", "))));
  }
  FGNN_RETURN_IF_ERROR(CheckTrusted(plugin.folder, path));
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = ::dlerror();
    return absl::InvalidArgumentError(
        absl::StrCat("plugin ", path.string(),
                     " cannot be loaded: ", reason == nullptr ? "" : reason));
  }
  const void* const entry = ::dlsym(library, symbol);
  const uint32_t its_version =
      entry == nullptr ? 0 : *static_cast<const uint32_t*>(entry);
  if (entry == nullptr || its_version != version) {
    const std::string what =
        entry == nullptr ? absl::StrCat("is no plugin for this: it exports no ",
                                        symbol, " (see ", macro, ")")
                         : absl::StrCat("is of plugin version ", its_version,
                                        ", this FGNN of ", version,
                                        ": build it again with FGNN's headers");
    ::dlclose(library);
    return absl::InvalidArgumentError(
        absl::StrCat("plugin ", path.string(), " ", what));
  }
  return absl::WrapUnique(new PluginLibrary(library, entry));
}

PluginLibrary::~PluginLibrary() { ::dlclose(library_); }

}  // namespace fgnn
