#include "trainer_service/nn/cuda/cublas_lt.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/status.h"

namespace fgnn {
namespace {

using cublas_lt::Api;

// What NVIDIA recommends for its larger devices.
constexpr uint64_t kWorkspaceBytes = uint64_t{32} << 20;
// What CheckProduct() promises.
constexpr uint32_t kAlignmentBytes = 16;
// Partial sums are added in f32, in an order that does not depend on time.
constexpr uint32_t kReductions = cublas_lt::kReductionComputeType;
// Shapes whose algorithm is remembered. Batches differ in their numbers of
// rows, so the oldest ones have to go.
constexpr size_t kMostPlans = 256;

// Destroys an object of the library. A table of functions outlives its user.
template <typename Object>
struct Destroy {
  cublas_lt::Status (*function)(Object* object) = nullptr;
  void operator()(Object* object) const { function(object); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Destroy<Object>>;

cudaDataType TypeOf(FeatureType type) {
  return type == FeatureType::kBfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

// TF32 is a type of factors in f32 only.
cublas_lt::ComputeType ComputeTypeOf(const ProductArgs& args) {
  return args.rounds_to_tf32 && args.type == FeatureType::kFloat32
             ? cublas_lt::kCompute32FFastTf32
             : cublas_lt::kCompute32F;
}

// What the choice of an algorithm depends on.
using Shape = std::tuple<uint64_t, uint64_t, uint64_t, bool, bool, bool,
                         FeatureType, FeatureType>;

Shape ShapeOf(const ProductArgs& args) {
  return {args.m,
          args.n,
          args.k,
          args.transposes_a,
          args.transposes_b,
          args.rounds_to_tf32,
          args.type,
          args.c_type};
}

// The library's matrices are column-major: a row-major one is its transpose
// there. So it computes c^T = op(b)^T op(a)^T, with b as the first factor.
struct Plan {
  Owned<cublas_lt::Desc> desc;
  Owned<cublas_lt::Layout> first;   // b
  Owned<cublas_lt::Layout> second;  // a
  Owned<cublas_lt::Layout> out;     // c
  cublas_lt::Algo algo = {};
};

class CublasLtProducts : public DenseProducts {
 public:
  explicit CublasLtProducts(const Api& api)
      : api_(api),
        context_(nullptr, {api.destroy}),
        preference_(nullptr, {api.preference_destroy}) {}

  // Before any product.
  absl::Status Start();

  absl::Status Multiply(const ProductArgs& args, cudaStream_t stream) override;
  uint64_t workspace_bytes() const override { return workspace_.bytes(); }

 private:
  absl::Status Check(cublas_lt::Status status, absl::string_view what) const;
  template <typename Value>
  absl::Status Prefer(cublas_lt::PreferenceAttribute attribute, Value value);
  absl::StatusOr<Owned<cublas_lt::Layout>> MakeLayout(FeatureType type,
                                                      uint64_t rows,
                                                      uint64_t columns) const;
  absl::Status Transpose(cublas_lt::DescAttribute factor, bool transposes,
                         cublas_lt::Desc* desc) const;
  absl::StatusOr<Plan> MakePlan(const ProductArgs& args) const;
  absl::Status ChooseAlgo(const ProductArgs& args, Plan* plan) const;
  absl::StatusOr<const Plan*> PlanOf(const ProductArgs& args);

  const Api api_;
  Owned<cublas_lt::Context> context_;
  Owned<cublas_lt::Preference> preference_;
  DeviceArray<std::byte> workspace_;
  std::map<Shape, Plan> plans_;
  std::deque<Shape> oldest_first_;  // The shapes of plans_.
};

absl::Status CublasLtProducts::Check(cublas_lt::Status status,
                                     absl::string_view what) const {
  if (status == cublas_lt::kSuccess) return absl::OkStatus();
  const std::string message =
      absl::StrCat("cuBLASLt ", api_.get_version(), " cannot ", what, ": ",
                   api_.get_status_name(status));
  switch (status) {
    case cublas_lt::kNotInitialized:
      return absl::FailedPreconditionError(absl::StrCat(
          message,
          "; the device has no driver for CUDA 13, or no memory is "
          "left on it: 'nvidia-smi' shows both"));
    case cublas_lt::kAllocFailed:
      return absl::ResourceExhaustedError(message);
    case cublas_lt::kNotSupported:
      return absl::UnimplementedError(message);
    default:
      return absl::InternalError(message);
  }
}

template <typename Value>
absl::Status CublasLtProducts::Prefer(cublas_lt::PreferenceAttribute attribute,
                                      Value value) {
  return Check(api_.preference_set_attribute(preference_.get(), attribute,
                                             &value, sizeof(value)),
               "set a preference");
}

absl::Status CublasLtProducts::Start() {
  cublas_lt::Context* context = nullptr;
  FGNN_RETURN_IF_ERROR(Check(api_.create(&context), "use the device"));
  context_.reset(context);
  FGNN_ASSIGN_OR_RETURN(workspace_,
                        DeviceArray<std::byte>::Make(kWorkspaceBytes));
  cublas_lt::Preference* preference = nullptr;
  FGNN_RETURN_IF_ERROR(
      Check(api_.preference_create(&preference), "make preferences"));
  preference_.reset(preference);
  FGNN_RETURN_IF_ERROR(
      Prefer(cublas_lt::kPreferenceMaxWorkspaceBytes, kWorkspaceBytes));
  FGNN_RETURN_IF_ERROR(
      Prefer(cublas_lt::kPreferenceReductionSchemeMask, kReductions));
  for (const auto matrix : {cublas_lt::kPreferenceMinAlignmentABytes,
                            cublas_lt::kPreferenceMinAlignmentBBytes,
                            cublas_lt::kPreferenceMinAlignmentCBytes,
                            cublas_lt::kPreferenceMinAlignmentDBytes}) {
    FGNN_RETURN_IF_ERROR(Prefer(matrix, kAlignmentBytes));
  }
  return absl::OkStatus();
}

// Returns the layout of a row-major matrix [rows, columns].
absl::StatusOr<Owned<cublas_lt::Layout>> CublasLtProducts::MakeLayout(
    FeatureType type, uint64_t rows, uint64_t columns) const {
  cublas_lt::Layout* layout = nullptr;
  FGNN_RETURN_IF_ERROR(
      Check(api_.layout_create(&layout, TypeOf(type), columns, rows,
                               static_cast<int64_t>(columns)),
            "describe a matrix"));
  return Owned<cublas_lt::Layout>(layout, {api_.layout_destroy});
}

absl::Status CublasLtProducts::Transpose(cublas_lt::DescAttribute factor,
                                         bool transposes,
                                         cublas_lt::Desc* desc) const {
  const cublas_lt::Operation operation =
      transposes ? cublas_lt::kOpT : cublas_lt::kOpN;
  return Check(
      api_.desc_set_attribute(desc, factor, &operation, sizeof(operation)),
      "describe a product");
}

absl::Status CublasLtProducts::ChooseAlgo(const ProductArgs& args,
                                          Plan* plan) const {
  cublas_lt::HeuristicResult result = {};
  int found = 0;
  const std::string what =
      absl::StrCat("multiply [", args.m, ", ", args.k, "] and [", args.k, ", ",
                   args.n, "] on this device");
  FGNN_RETURN_IF_ERROR(
      Check(api_.algo_get_heuristic(context_.get(), plan->desc.get(),
                                    plan->first.get(), plan->second.get(),
                                    plan->out.get(), plan->out.get(),
                                    preference_.get(), 1, &result, &found),
            what));
  FGNN_RETURN_IF_ERROR(
      Check(found == 0 ? cublas_lt::kNotSupported : result.state, what));
  plan->algo = result.algo;
  return absl::OkStatus();
}

absl::StatusOr<Plan> CublasLtProducts::MakePlan(const ProductArgs& args) const {
  Plan plan;
  cublas_lt::Desc* desc = nullptr;
  FGNN_RETURN_IF_ERROR(
      Check(api_.desc_create(&desc, ComputeTypeOf(args), CUDA_R_32F),
            "describe a product"));
  plan.desc = Owned<cublas_lt::Desc>(desc, {api_.desc_destroy});
  FGNN_RETURN_IF_ERROR(
      Transpose(cublas_lt::kDescTransA, args.transposes_b, desc));
  FGNN_RETURN_IF_ERROR(
      Transpose(cublas_lt::kDescTransB, args.transposes_a, desc));
  const uint64_t b_rows = args.transposes_b ? args.n : args.k;
  const uint64_t b_columns = args.transposes_b ? args.k : args.n;
  FGNN_ASSIGN_OR_RETURN(plan.first, MakeLayout(args.type, b_rows, b_columns));
  const uint64_t a_rows = args.transposes_a ? args.k : args.m;
  const uint64_t a_columns = args.transposes_a ? args.m : args.k;
  FGNN_ASSIGN_OR_RETURN(plan.second, MakeLayout(args.type, a_rows, a_columns));
  FGNN_ASSIGN_OR_RETURN(plan.out, MakeLayout(args.c_type, args.m, args.n));
  FGNN_RETURN_IF_ERROR(ChooseAlgo(args, &plan));
  return plan;
}

absl::StatusOr<const Plan*> CublasLtProducts::PlanOf(const ProductArgs& args) {
  const Shape shape = ShapeOf(args);
  const auto known = plans_.find(shape);
  if (known != plans_.end()) return &known->second;
  FGNN_ASSIGN_OR_RETURN(Plan plan, MakePlan(args));
  if (plans_.size() == kMostPlans) {
    plans_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }
  oldest_first_.push_back(shape);
  return &plans_.emplace(shape, std::move(plan)).first->second;
}

absl::Status CublasLtProducts::Multiply(const ProductArgs& args,
                                        cudaStream_t stream) {
  FGNN_RETURN_IF_ERROR(CheckProduct(args));
  const uint64_t count = args.m * args.n;
  if (count == 0 || (args.k == 0 && args.adds)) return absl::OkStatus();
  if (args.k == 0) {
    const uint64_t bytes =
        count * (args.c_type == FeatureType::kBfloat16 ? 2 : 4);
    return CudaStatus(cudaMemsetAsync(args.c, 0, bytes, stream),
                      "cannot set a product without an inner size to 0");
  }
  FGNN_ASSIGN_OR_RETURN(const Plan* const plan, PlanOf(args));
  const float alpha = 1;
  const float beta = args.adds ? 1 : 0;
  return Check(
      api_.matmul(context_.get(), plan->desc.get(), &alpha, args.b,
                  plan->first.get(), args.a, plan->second.get(), &beta, args.c,
                  plan->out.get(), args.c, plan->out.get(), &plan->algo,
                  workspace_.get(), workspace_.bytes(), stream),
      "multiply");
}

}  // namespace

absl::StatusOr<std::unique_ptr<DenseProducts>> NewCublasLt(const Api& api) {
  auto products = std::make_unique<CublasLtProducts>(api);
  FGNN_RETURN_IF_ERROR(products->Start());
  return products;
}

}  // namespace fgnn
