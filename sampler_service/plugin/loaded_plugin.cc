#include "sampler_service/plugin/loaded_plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// The names of the plugins in `folder`, sorted.
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

}  // namespace

absl::StatusOr<std::unique_ptr<LoadedPlugin>> LoadedPlugin::Open(
    const fs::path& folder, const std::string& name) {
  const fs::path path = folder / absl::StrCat("lib", name, ".so");
  std::error_code error;
  if (name.empty() || fs::path(name).filename() != name ||
      !fs::exists(path, error)) {
    const std::vector<std::string> there = PluginsIn(folder);
    return absl::NotFoundError(absl::StrCat(
        "sampling.plugin is '", name, "', but there is no ", path.string(),
        there.empty()
            ? "; put the plugin's library there"
            : absl::StrCat("; there is ", absl::StrJoin(there, ", "))));
  }
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = ::dlerror();
    return absl::FailedPreconditionError(
        absl::StrCat("plugin ", path.string(),
                     " cannot be loaded: ", reason == nullptr ? "" : reason));
  }
  const auto* const entry = static_cast<const SamplerPluginEntry*>(
      ::dlsym(library, "fgnn_sampler_plugin"));
  if (entry == nullptr || entry->version != kSamplerPluginVersion) {
    const std::string what =
        entry == nullptr
            ? "is no plugin: it exports no fgnn_sampler_plugin (see "
              "FGNN_SAMPLER_PLUGIN)"
            : absl::StrCat("is of plugin version ", entry->version,
                           ", this FGNN of ", kSamplerPluginVersion,
                           ": build it again with FGNN's headers");
    ::dlclose(library);
    return absl::FailedPreconditionError(
        absl::StrCat("plugin ", path.string(), " ", what));
  }
  return absl::WrapUnique(new LoadedPlugin(name, library, entry));
}

LoadedPlugin::~LoadedPlugin() { ::dlclose(library_); }

absl::StatusOr<LoadedPlugin::Instance> LoadedPlugin::NewInstance() const {
  try {
    return Instance(entry_->create(), entry_->destroy);
  } catch (const std::exception& thrown) {
    return absl::AbortedError(
        absl::StrCat("plugin '", name_, "' threw: ", thrown.what()));
  } catch (...) {
    return absl::AbortedError(absl::StrCat("plugin '", name_, "' threw"));
  }
}

}  // namespace fgnn
