// Shared libraries that a program opens when it first needs them.
#ifndef FGNN_SHARED_BASE_SHARED_LIBRARY_H_
#define FGNN_SHARED_BASE_SHARED_LIBRARY_H_

#include <filesystem>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fgnn {

// The functions of an open library.
class LibrarySymbols {
 public:
  explicit LibrarySymbols(void* library) : library_(library) {}

  // Sets *function to the function of this name, or to null.
  template <typename Function>
  void Find(const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(Address(name));
  }
  // The first name that was not found; empty: all were.
  const std::string& missing() const { return missing_; }

 private:
  void* Address(const char* name);

  void* library_;
  std::string missing_;
};

// Opens the first of `paths` that can be opened and has all functions that
// `find` looks for. Its names stay its own. It is never closed, since such a
// library may have threads and state of a driver. NotFound: there is none; the
// message has a reason for each path.
absl::Status OpenSharedLibrary(absl::Span<const std::string> paths,
                               absl::FunctionRef<void(LibrarySymbols&)> find);

// A library that users fetch by pip.
struct PackagedLibrary {
  const char* file;
  const char* package;  // Name and version of the package.
  const char* folder;   // Folder of the file in the package.
  const char* need;     // "X needs the library Y": begins the message.
  const char* size;     // "(196 MB)", and what to do without the library.
};

// Opens the library of a package that was put into `folder`, or the first of
// `others` that can be opened, as OpenSharedLibrary() does.
// FailedPrecondition: there is none; the message has the command that fetches
// the package.
absl::Status OpenPackagedLibrary(const PackagedLibrary& library,
                                 const std::filesystem::path& folder,
                                 absl::Span<const std::string> others,
                                 absl::FunctionRef<void(LibrarySymbols&)> find);

// Returns the place lib/fgnn/NAME beside the folder of this program. Nothing
// need be there.
absl::StatusOr<std::filesystem::path> LibraryFolder(const char* name);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_SHARED_LIBRARY_H_
