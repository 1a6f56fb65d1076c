// Finds and opens libcublasLt.
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/shared_library.h"
#include "shared/base/status.h"
#include "trainer_service/nn/cuda/cublas_lt.h"

namespace fgnn {
namespace {

constexpr PackagedLibrary kCublas = {
    .file = "libcublasLt.so.13",
    .package = "nvidia-cublas==13.1.0.3",
    .folder = "nvidia/cu13/lib",
    .need = "training on cuda devices needs NVIDIA's cuBLAS 13",
    .size = "(423 MB)"};

void FindAll(LibrarySymbols& symbols, cublas_lt::Api* api) {
  symbols.Find("cublasLtGetVersion", &api->get_version);
  symbols.Find("cublasLtGetStatusName", &api->get_status_name);
  symbols.Find("cublasLtCreate", &api->create);
  symbols.Find("cublasLtDestroy", &api->destroy);
  symbols.Find("cublasLtMatrixLayoutCreate", &api->layout_create);
  symbols.Find("cublasLtMatrixLayoutDestroy", &api->layout_destroy);
  symbols.Find("cublasLtMatmulDescCreate", &api->desc_create);
  symbols.Find("cublasLtMatmulDescDestroy", &api->desc_destroy);
  symbols.Find("cublasLtMatmulDescSetAttribute", &api->desc_set_attribute);
  symbols.Find("cublasLtMatmulPreferenceCreate", &api->preference_create);
  symbols.Find("cublasLtMatmulPreferenceDestroy", &api->preference_destroy);
  symbols.Find("cublasLtMatmulPreferenceSetAttribute",
               &api->preference_set_attribute);
  symbols.Find("cublasLtMatmulAlgoGetHeuristic", &api->algo_get_heuristic);
  symbols.Find("cublasLtMatmul", &api->matmul);
}

// Opens the library from the places that the header names.
absl::StatusOr<cublas_lt::Api> FindCublasLt() {
  FGNN_ASSIGN_OR_RETURN(const std::filesystem::path folder,
                        LibraryFolder("cublas"));
  return LoadCublasLt(
      folder,
      {kCublas.file, absl::StrCat("/usr/local/cuda/lib64/", kCublas.file)});
}

}  // namespace

absl::StatusOr<cublas_lt::Api> LoadCublasLt(
    const std::filesystem::path& folder, absl::Span<const std::string> others) {
  cublas_lt::Api api = {};
  FGNN_RETURN_IF_ERROR(OpenPackagedLibrary(
      kCublas, folder, others,
      [&api](LibrarySymbols& symbols) { FindAll(symbols, &api); }));
  return api;
}

absl::StatusOr<std::unique_ptr<DenseProducts>> OpenCublasLt() {
  FGNN_ASSIGN_OR_RETURN(const cublas_lt::Api api, FindCublasLt());
  return NewCublasLt(api);
}

absl::StatusOr<std::string> NameCublasLt() {
  FGNN_ASSIGN_OR_RETURN(const cublas_lt::Api api, FindCublasLt());
  const size_t version = api.get_version();
  return absl::StrCat("cuBLAS ", version / 10000, ".", version / 100 % 100, ".",
                      version % 100);
}

}  // namespace fgnn
