// Finds and opens libcublasLt.
#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/nn/cuda/cublas_lt.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "libcublasLt.so.13";
constexpr char kPackage[] = "nvidia-cublas==13.1.0.3";
// In the package's wheel.
constexpr char kFolderOfWheel[] = "nvidia/cu13/lib";

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

std::string FindAll(void* library, cublas_lt::Api* api) {
  Symbols symbols(library);
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
  return symbols.missing();
}

}  // namespace

absl::StatusOr<cublas_lt::Api> LoadCublasLt(absl::Span<const std::string> paths,
                                            const std::string& folder) {
  std::string reasons;
  for (const std::string& path : paths) {
    // It keeps state of the driver, so it is never closed.
    void* const library =
        ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* const reason = ::dlerror();
      absl::StrAppend(&reasons, "; ", reason == nullptr ? path : reason);
      continue;
    }
    cublas_lt::Api api = {};
    const std::string missing = FindAll(library, &api);
    if (missing.empty()) return api;
    absl::StrAppend(&reasons, "; ", path, " has no ", missing);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "training on cuda devices needs NVIDIA's cuBLAS 13: run 'python3 -m pip "
      "install --no-deps --target ",
      folder, " ", kPackage, "' (423 MB)", reasons));
}

absl::StatusOr<std::unique_ptr<DenseProducts>> OpenCublasLt() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoToStatus(error.value(), "read /proc/self/exe");
  const fs::path folder =
      self.parent_path().parent_path() / "lib" / "fgnn" / "cublas";
  FGNN_ASSIGN_OR_RETURN(
      const cublas_lt::Api api,
      LoadCublasLt({(folder / kFolderOfWheel / kFile).string(), kFile,
                    absl::StrCat("/usr/local/cuda/lib64/", kFile)},
                   folder.string()));
  return NewCublasLt(api);
}

}  // namespace fgnn
