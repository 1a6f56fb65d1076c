#include "shared/base/shared_library.h"

#include <dlfcn.h>

#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {

void* LibrarySymbols::Address(const char* name) {
  void* const address = ::dlsym(library_, name);
  if (address == nullptr && missing_.empty()) missing_ = name;
  return address;
}

absl::Status OpenSharedLibrary(absl::Span<const std::string> paths,
                               absl::FunctionRef<void(LibrarySymbols&)> find) {
  std::string reasons;
  for (const std::string& path : paths) {
    const char* const separator = reasons.empty() ? "" : "; ";
    void* const library =
        ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* const reason = ::dlerror();
      absl::StrAppend(&reasons, separator, reason == nullptr ? path : reason);
      continue;
    }
    LibrarySymbols symbols(library);
    find(symbols);
    if (symbols.missing().empty()) return absl::OkStatus();
    absl::StrAppend(&reasons, separator, path, " has no ", symbols.missing());
  }
  return absl::NotFoundError(reasons);
}

absl::Status OpenPackagedLibrary(
    const PackagedLibrary& library, const std::filesystem::path& folder,
    absl::Span<const std::string> others,
    absl::FunctionRef<void(LibrarySymbols&)> find) {
  std::vector<std::string> paths = {folder / library.folder / library.file};
  paths.insert(paths.end(), others.begin(), others.end());
  const absl::Status opened = OpenSharedLibrary(paths, find);
  if (opened.ok()) return opened;
  return absl::FailedPreconditionError(absl::StrCat(
      library.need, ": run 'python3 -m pip install --no-deps --target ",
      folder.string(), " ", library.package, "' ", library.size, "; ",
      opened.message()));
}

absl::StatusOr<std::filesystem::path> LibraryFolder(const char* name) {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoToStatus(error.value(), "read /proc/self/exe");
  return self.parent_path().parent_path() / "lib" / "fgnn" / name;
}

}  // namespace fgnn
