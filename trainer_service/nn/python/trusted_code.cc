#include "trainer_service/nn/python/trusted_code.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

absl::Status CheckGuardedAt(const fs::path& path, const char* field) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) {
      return absl::NotFoundError(
          absl::StrCat(field, " ", path.string(), " does not exist"));
    }
    return ErrnoToStatus(errno, absl::StrCat("look at ", path.string()));
  }
  return Annotate(CheckGuarded(path, info, GuardedOwner::kThisUserOrRoot),
                  field);
}

absl::Status CheckInterpreter(const fs::path& python) {
  constexpr char kField[] = "model.python";
  FGNN_RETURN_IF_ERROR(CheckGuardedAt(python, kField));
  std::error_code error;
  const fs::path real = fs::canonical(python, error);
  if (error) {
    return ErrnoToStatus(error.value(),
                         absl::StrCat("look at ", python.string()));
  }
  if (!absl::StartsWith(real.filename().string(), "python")) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.python ", python.string(), " is ", real.string(),
                     ", and no interpreter of Python; name one such as "
                     "/usr/bin/python3"));
  }
  // An environment's packages are found by the folder of the link, and by
  // pyvenv.cfg above it.
  FGNN_RETURN_IF_ERROR(CheckGuardedAt(python.parent_path(), kField));
  return CheckGuardedAt(python.parent_path().parent_path(), kField);
}

}  // namespace

absl::Status CheckTrustedCode(const ModelOptions& options) {
  const fs::path file = options.file;
  FGNN_RETURN_IF_ERROR(CheckGuardedAt(file, "model.file"));
  // What lies beside it can be imported.
  FGNN_RETURN_IF_ERROR(CheckGuardedAt(file.parent_path(), "model.file"));
  if (options.python.empty()) return absl::OkStatus();
  return CheckInterpreter(options.python);
}

}  // namespace fgnn
