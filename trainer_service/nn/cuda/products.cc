#include "trainer_service/nn/cuda/products.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fgnn {
namespace {

constexpr uint64_t kAlignment = 16;

// Returns an empty string for an array that may be used.
absl::string_view Fault(const void* array, uint64_t count) {
  if (count == 0) return "";
  if (array == nullptr) return "is null";
  return reinterpret_cast<uintptr_t>(array) % kAlignment == 0
             ? ""
             : "is not at a multiple of 16 bytes";
}

}  // namespace

absl::Status CheckProduct(const ProductArgs& args) {
  const auto refuse = [&](absl::string_view what, absl::string_view reason) {
    return absl::InvalidArgumentError(
        absl::StrCat("product of [", args.m, ", ", args.k, "] and [", args.k,
                     ", ", args.n, "]: ", what, " ", reason));
  };
  if (args.m > INT32_MAX || args.n > INT32_MAX || args.k > INT32_MAX) {
    return refuse("a size", "is 2^31 or more");
  }
  if (args.type == FeatureType::kFloat16) return refuse("a", "is of f16");
  if (args.c_type != FeatureType::kFloat32 && args.c_type != args.type) {
    return refuse("c", "is neither of f32 nor of the factors' type");
  }
  const absl::string_view of_a = Fault(args.a, args.m * args.k);
  if (!of_a.empty()) return refuse("a", of_a);
  const absl::string_view of_b = Fault(args.b, args.k * args.n);
  if (!of_b.empty()) return refuse("b", of_b);
  const absl::string_view of_c = Fault(args.c, args.m * args.n);
  if (!of_c.empty()) return refuse("c", of_c);
  return absl::OkStatus();
}

}  // namespace fgnn
