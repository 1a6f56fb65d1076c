// The kernel, for any width of register. A tile of rows times a panel of
// columns stays in registers while it is summed: each load of b serves kRows
// rows, each broadcast of a serves up to three registers.
//
// Packed: panels of columns, in each of them row after row. A panel is two
// registers wide; the last is as wide as what is left, up to three, with zeros
// behind the last column.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_

#include <algorithm>
#include <cstdint>

#include "trainer_service/nn/cpu/product_kernels.h"

namespace fgnn {

// Vec: Register, kWidth floats; kRows of a tile; Zero, Load, Store, MulAdd(x,
// b, sum) = x * b + sum with x broadcast.
template <typename Vec>
class ProductBody {
 public:
  static int64_t PackedFloats(int64_t rows, int64_t columns) {
    return rows * Vectors(columns) * kWidth;
  }

  static void Pack(const Factor& b, float* packed) {
    const int64_t rows = b.transposed ? b.columns : b.rows;
    const int64_t columns = b.transposed ? b.rows : b.columns;
    for (int64_t first = 0; first < columns;) {
      const int64_t width = PanelVectors(columns - first) * kWidth;
      const int64_t filled = std::min(width, columns - first);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t c = 0; c < filled; ++c) {
          packed[c] = b.transposed ? b.data[(first + c) * b.columns + row]
                                   : b.data[row * b.columns + first + c];
        }
        std::fill(packed + filled, packed + width, 0.0F);
        packed += width;
      }
      first += width;
    }
  }

  static void Multiply(const Factor& a, const float* packed, int64_t columns,
                       Into into, float* out) {
    const Operands of = {.a = a.data,
                         .a_stride = a.columns,
                         .inner = a.transposed ? a.rows : a.columns,
                         .packed = packed,
                         .columns = columns,
                         .adds = into == Into::kAdd,
                         .out = out};
    const int64_t rows = a.transposed ? a.columns : a.rows;
    if (a.transposed) {
      Rows<true>(of, rows);
    } else {
      Rows<false>(of, rows);
    }
  }

 private:
  using Register = typename Vec::Register;
  static constexpr int64_t kWidth = Vec::kWidth;
  static constexpr int kMostVectors = 3;

  struct Operands {
    const float* a;
    int64_t a_stride;
    int64_t inner;
    const float* packed;
    int64_t columns;
    bool adds;
    float* out;
  };

  static int64_t Vectors(int64_t columns) {
    return (columns + kWidth - 1) / kWidth;
  }
  static int64_t PanelVectors(int64_t columns) {
    const int64_t left = Vectors(columns);
    return left <= kMostVectors ? left : 2;
  }

  template <bool kTransposed>
  static void Rows(const Operands& of, int64_t rows) {
    int64_t row = 0;
    for (; row + Vec::kRows <= rows; row += Vec::kRows) {
      Panels<kTransposed, Vec::kRows>(of, row);
    }
    for (; row + 2 <= rows; row += 2) Panels<kTransposed, 2>(of, row);
    if (row < rows) Panels<kTransposed, 1>(of, row);
  }

  template <bool kTransposed, int kRows>
  static void Panels(const Operands& of, int64_t row) {
    const float* const a = of.a + (kTransposed ? row : row * of.a_stride);
    for (int64_t first = 0; first < of.columns;) {
      const int64_t vectors = PanelVectors(of.columns - first);
      const float* const panel = of.packed + first * of.inner;
      float* const out = of.out + row * of.columns + first;
      switch (vectors) {
        case 1:
          Panel<kTransposed, kRows, 1>(of, a, panel, of.columns - first, out);
          break;
        case 2:
          Panel<kTransposed, kRows, 2>(of, a, panel, of.columns - first, out);
          break;
        default:
          Panel<kTransposed, kRows, 3>(of, a, panel, of.columns - first, out);
      }
      first += vectors * kWidth;
    }
  }

  // Where the panel is wider than what is left of out's rows, beside them.
  template <bool kTransposed, int kRows, int kVectors>
  static void Panel(const Operands& of, const float* a, const float* panel,
                    int64_t left, float* out) {
    constexpr int64_t kPanel = kVectors * kWidth;
    if (left >= kPanel) {
      Tile<kTransposed, kRows, kVectors>(of, a, panel, out, of.columns);
      return;
    }
    alignas(64) float beside[kRows * kPanel] = {};
    for (int i = 0; of.adds && i < kRows; ++i) {
      std::copy_n(out + i * of.columns, left, beside + i * kPanel);
    }
    Tile<kTransposed, kRows, kVectors>(of, a, panel, beside, kPanel);
    for (int i = 0; i < kRows; ++i) {
      std::copy_n(beside + i * kPanel, left, out + i * of.columns);
    }
  }

  template <bool kTransposed, int kRows, int kVectors>
  static void Tile(const Operands& of, const float* a, const float* panel,
                   float* out, int64_t out_stride) {
    Register sums[kRows][kVectors];
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = of.adds ? Vec::Load(out + i * out_stride + j * kWidth)
                             : Vec::Zero();
      }
    }
    for (int64_t k = 0; k < of.inner; ++k) {
      Register b[kVectors];
      for (int j = 0; j < kVectors; ++j) {
        b[j] = Vec::Load(panel + (k * kVectors + j) * kWidth);
      }
      for (int i = 0; i < kRows; ++i) {
        const float x =
            kTransposed ? a[k * of.a_stride + i] : a[i * of.a_stride + k];
        for (int j = 0; j < kVectors; ++j) {
          sums[i][j] = Vec::MulAdd(x, b[j], sums[i][j]);
        }
      }
    }
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        Vec::Store(out + i * out_stride + j * kWidth, sums[i][j]);
      }
    }
  }
};

template <typename Vec>
constexpr ProductKernels ProductsOf(const char* name) {
  return {.name = name,
          .packed_floats = ProductBody<Vec>::PackedFloats,
          .pack = ProductBody<Vec>::Pack,
          .multiply = ProductBody<Vec>::Multiply};
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_
