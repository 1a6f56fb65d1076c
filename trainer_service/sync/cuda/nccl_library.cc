#include "trainer_service/sync/cuda/nccl_library.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "shared/base/shared_library.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr char kFile[] = "libnccl.so.2";
constexpr char kPackage[] = "nvidia-nccl-cu13==2.28.9";
// In the package's wheel.
constexpr char kFolderOfWheel[] = "nvidia/nccl/lib";

void FindAll(LibrarySymbols& symbols, nccl::Api* api) {
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
}

}  // namespace

absl::StatusOr<nccl::Api> LoadNccl(absl::Span<const std::string> paths,
                                   const std::string& folder) {
  nccl::Api api = {};
  const absl::Status opened = OpenSharedLibrary(
      paths, [&api](LibrarySymbols& symbols) { FindAll(symbols, &api); });
  if (opened.ok()) return api;
  return absl::FailedPreconditionError(absl::StrCat(
      "training.sync nccl needs NVIDIA's NCCL 2: run 'python3 -m pip install "
      "--no-deps --target ",
      folder, " ", kPackage, "' (196 MB), or use training.sync: steps; ",
      opened.message()));
}

absl::StatusOr<nccl::Api> OpenNccl() {
  FGNN_ASSIGN_OR_RETURN(const std::filesystem::path folder,
                        LibraryFolder("nccl"));
  return LoadNccl({(folder / kFolderOfWheel / kFile).string(), kFile},
                  folder.string());
}

absl::StatusOr<std::string> NameOf(const nccl::Api& api) {
  int version = 0;  // 10000 * major + 100 * minor + patch
  const nccl::Result result = api.get_version(&version);
  if (result != nccl::kSuccess) {
    return absl::InternalError(absl::StrCat("NCCL does not say its version: ",
                                            api.get_error_string(result)));
  }
  return absl::StrCat("NCCL ", version / 10000, ".", version / 100 % 100, ".",
                      version % 100);
}

}  // namespace fgnn
