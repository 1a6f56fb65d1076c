#include "trainer_service/sync/cuda/nccl_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "libnccl.so.2";
constexpr char kPackage[] = "nvidia-nccl-cu13==2.28.9";
// In the package's wheel.
constexpr char kFolderOfWheel[] = "nvidia/nccl/lib";

// Remembers the first name that the library lacks.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void Find(const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(::dlsym(library_, name));
    if (*function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

std::string FindAll(void* library, nccl::Api* api) {
  Symbols symbols(library);
  symbols.Find("ncclGetVersion", &api->get_version);
  symbols.Find("ncclGetErrorString", &api->get_error_string);
  symbols.Find("ncclGetLastError", &api->get_last_error);
  symbols.Find("ncclGetUniqueId", &api->get_unique_id);
  symbols.Find("ncclCommInitRankConfig", &api->comm_init_rank_config);
  symbols.Find("ncclCommGetAsyncError", &api->comm_get_async_error);
  symbols.Find("ncclCommAbort", &api->comm_abort);
  symbols.Find("ncclGroupStart", &api->group_start);
  symbols.Find("ncclGroupEnd", &api->group_end);
  symbols.Find("ncclBroadcast", &api->broadcast);
  symbols.Find("ncclAllReduce", &api->all_reduce);
  return symbols.missing();
}

}  // namespace

absl::StatusOr<nccl::Api> LoadNccl(absl::Span<const std::string> paths,
                                   const std::string& folder) {
  std::string reasons;
  for (const std::string& path : paths) {
    // It has threads of its own, so it is never closed.
    void* const library =
        ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* const reason = ::dlerror();
      absl::StrAppend(&reasons, "; ", reason == nullptr ? path : reason);
      continue;
    }
    nccl::Api api = {};
    const std::string missing = FindAll(library, &api);
    if (missing.empty()) return api;
    absl::StrAppend(&reasons, "; ", path, " has no ", missing);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "training.sync is nccl, which needs NVIDIA's NCCL 2: run 'python3 -m pip "
      "install --no-deps --target ",
      folder, " ", kPackage, "' (196 MB), or use training.sync: steps",
      reasons));
}

absl::StatusOr<nccl::Api> OpenNccl() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoToStatus(error.value(), "read /proc/self/exe");
  const fs::path folder =
      self.parent_path().parent_path() / "lib" / "fgnn" / "nccl";
  return LoadNccl({(folder / kFolderOfWheel / kFile).string(), kFile},
                  folder.string());
}

}  // namespace fgnn
