#include "tools/fgnn/service/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<TemporaryFolder> TemporaryFolder::Make() {
  std::error_code error;
  const std::filesystem::path parent =
      std::filesystem::temp_directory_path(error);
  if (error) return ErrnoToStatus(error.value(), "find a temporary folder");
  std::string name = (parent / "fgnn-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return ErrnoToStatus(errno, "make " + name);
  }
  return TemporaryFolder(name);
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  // A folder that cannot be removed stays in the folder for temporary files.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fgnn
