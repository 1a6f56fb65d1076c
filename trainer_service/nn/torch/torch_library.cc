#include "trainer_service/nn/torch/torch_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "shared/base/shared_library.h"
#include "shared/base/status.h"
#include "shared/plugin/plugin_library.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

absl::Status Unusable(absl::string_view reason) {
  return absl::FailedPreconditionError(
      absl::StrCat("models of your own need libtorch ", TorchRelease(), ": ",
                   reason, "; the command 'fgnn-setup-torch' fetches it"));
}

}  // namespace

const char* TorchRelease() { return FGNN_TORCH_RELEASE; }

absl::StatusOr<const TorchLibrary*> OpenTorchLibrary() {
  FGNN_ASSIGN_OR_RETURN(const fs::path path, LibraryFolder("libfgnn_torch.so"));
  // A plugin links nothing: it finds libtorch's functions among those that are
  // global. libtorch starts threads and keeps state for them, so it stays.
  void* const library =
      ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const reason = ::dlerror();
    return Unusable(reason == nullptr ? path.c_str() : reason);
  }
  const auto* const entry =
      static_cast<const TorchLibrary*>(::dlsym(library, kTorchLibrarySymbol));
  if (entry == nullptr || absl::string_view(entry->version) != FGNN_VERSION) {
    return absl::FailedPreconditionError(absl::StrCat(
        path.string(), " is of another version than fgnn-trainer ",
        FGNN_VERSION, "; install both together, and start the service again"));
  }
  const absl::Status fits = entry->check_release();
  if (!fits.ok()) return Unusable(fits.message());
  return entry;
}

fs::path CodeOf(const ModelOptions& options, const fs::path& plugins) {
  return options.kind == "plugin"
             ? PathOf({.folder = plugins, .name = options.plugin, .field = ""})
             : fs::path(options.file);
}

}  // namespace fgnn
