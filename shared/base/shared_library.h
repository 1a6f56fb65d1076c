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

// Returns the folder lib/fgnn/NAME beside the folder of this program, which
// need not be there.
absl::StatusOr<std::filesystem::path> LibraryFolder(const char* name);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_SHARED_LIBRARY_H_
