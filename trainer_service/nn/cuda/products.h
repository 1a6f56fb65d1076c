// Products of dense matrices in device memory.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_PRODUCTS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_PRODUCTS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/graph/feature_type.h"

namespace fgnn {

// c = op(a) op(b), or c + op(a) op(b). All three are row-major without gaps, in
// device memory, at multiples of 16 bytes. c overlaps neither a nor b. Sizes
// are below 2^31; one may be 0, and its arrays null then. Without an inner size
// (k = 0) c becomes 0, or stays as it is with `adds`.
struct ProductArgs {
  uint64_t m = 0;
  uint64_t n = 0;
  uint64_t k = 0;
  bool transposes_a = false;
  bool transposes_b = false;
  bool adds = false;
  FeatureType type = FeatureType::kFloat32;  // Type of a and b, not kFloat16.
  // Whether factors may be rounded to TF32: 10 bits behind the point. Factors
  // of another type than f32 stay as they are.
  bool rounds_to_tf32 = false;
  const void* a = nullptr;                     // [m, k], or [k, m] transposed.
  const void* b = nullptr;                     // [k, n], or [n, k] transposed.
  FeatureType c_type = FeatureType::kFloat32;  // kFloat32, or `type`.
  void* c = nullptr;                           // [m, n]
};

// Multiplies on the current device. Thread-compatible. The products of one
// object share a workspace, so they are all queued on one stream.
class DenseProducts {
 public:
  virtual ~DenseProducts() = default;

  // Queues the product on `stream` and does not wait. Numbers are summed in
  // f32; factors in f32 are rounded only where the caller allows TF32. Equal
  // arguments give equal bits, on one kind of device and version of the
  // library. InvalidArgument: see CheckProduct(). ResourceExhausted: the
  // library has no memory. Internal: it failed.
  virtual absl::Status Multiply(const ProductArgs& args,
                                cudaStream_t stream) = 0;

  // Returns the bytes of device memory that the object holds.
  virtual uint64_t workspace_bytes() const = 0;
};

// Opens the library of dense products on the current device.
using ProductsOpener =
    std::function<absl::StatusOr<std::unique_ptr<DenseProducts>>()>;

// Returns InvalidArgument, with the sizes, for arguments that break the rules
// above.
absl::Status CheckProduct(const ProductArgs& args);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_PRODUCTS_H_
