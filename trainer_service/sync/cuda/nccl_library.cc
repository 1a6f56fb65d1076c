#include "trainer_service/sync/cuda/nccl_library.h"

#include "absl/strings/str_cat.h"
#include "shared/base/shared_library.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr PackagedLibrary kNccl = {
    .file = "libnccl.so.2",
    .package = "nvidia-nccl-cu13==2.28.9",
    .folder = "nvidia/nccl/lib",
    .need = "training.sync nccl needs NVIDIA's NCCL 2",
    .size = "(196 MB), or use training.sync: steps"};

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

absl::StatusOr<nccl::Api> LoadNccl(const std::filesystem::path& folder,
                                   absl::Span<const std::string> others) {
  nccl::Api api = {};
  FGNN_RETURN_IF_ERROR(OpenPackagedLibrary(
      kNccl, folder, others,
      [&api](LibrarySymbols& symbols) { FindAll(symbols, &api); }));
  return api;
}

absl::StatusOr<nccl::Api> OpenNccl() {
  FGNN_ASSIGN_OR_RETURN(const std::filesystem::path folder,
                        LibraryFolder("nccl"));
  return LoadNccl(folder, {kNccl.file});
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
