// Products of f32 matrices. The one place that knows which library makes them.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PRODUCTS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PRODUCTS_H_

#include <cstdint>
#include <string>

namespace fgnn {

// A row-major matrix without gaps, or its transpose. Borrowed.
struct Factor {
  const float* data = nullptr;
  int64_t rows = 0;     // As stored.
  int64_t columns = 0;  // As stored.
  bool transposed = false;

  Factor T() const { return {data, rows, columns, !transposed}; }
};

enum class Into : uint8_t { kOverwrite, kAdd };

// out [a's rows, b's columns] = or += a * b, on the calling thread; equal
// arguments at equal alignments give equal bits. `out` overlaps neither.
// May throw what the library throws (std::exception).
void Product(const Factor& a, const Factor& b, Into into, float* out);

// The library and the version that this was built against: "libtorch 2.11.0".
std::string ProductsLibrary();

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PRODUCTS_H_
