// The kernel, for any width of register. A tile of rows times a panel of
// columns stays in registers while it is summed: each load of b serves kRows
// rows, each broadcast of a serves up to three registers.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "trainer_service/nn/cpu/product_kernels.h"
#include "trainer_service/nn/cpu/product_panels.h"
#include "trainer_service/nn/cpu/product_skipping_body.h"

namespace fgnn {

// Vec: Number; Register, kWidth floats; kRows of a tile; Zero, Load and Store
// of sums, LoadFirst and StoreFirst of FirstLanes(count) of them; LoadPacked of
// kWidth words; MulAdd(x, b, sum) = x * b + sum with the word x broadcast, for
// each number of it; NotZero, a bit for each of kWidth words, and IsZero of
// one; kMostToMultiply, the share of words up to which skipping the others
// pays; TransposeTile(from, from_stride, to, to_stride) of kWidth words by
// kWidth, or none.
template <typename Vec>
class ProductBody {
 public:
  using Number = typename Vec::Number;

  static int64_t PackedNumbers(int64_t rows, int64_t columns) {
    return Words(rows) * kPerWord * Vectors(columns) * kWidth;
  }

  static void Pack(const FactorOf<Number>& b, Number* packed) {
    const int64_t rows = b.transposed ? b.columns : b.rows;
    const int64_t columns = b.transposed ? b.rows : b.columns;
    for (int64_t first = 0; first < columns;) {
      const int64_t width = P::PanelVectors(columns - first) * kWidth;
      const int64_t filled = std::min(width, columns - first);
      for (int64_t row = 0; row < rows; row += kPerWord) {
        PackWords(b, row, first, filled, packed);
        std::fill(packed + filled * kPerWord, packed + width * kPerWord,
                  Number{});
        packed += width * kPerWord;
      }
      first += width;
    }
  }

  static void Multiply(const FactorOf<Number>& a, const Number* packed,
                       int64_t columns, Into into, float* out) {
    const Operands of = {.a = a.data,
                         .rows = a.rows,
                         .inner = a.columns,
                         .packed = packed,
                         .columns = columns,
                         .adds = into == Into::kAdd,
                         .out = out};
    if (SkippingBody<Vec>::Pays(of)) {
      SkippingBody<Vec>::Multiply(of);
    } else {
      Rows(of);
    }
  }

  // to [a's columns, a's rows, for whole words]: a^T, zeros behind its rows.
  static void Transpose(const FactorOf<Number>& a, Number* to) {
    const int64_t stride = Words(a.rows) * kPerWord;
    int64_t rows = 0;
    int64_t columns = 0;
    if constexpr (requires { &Vec::TransposeTile; }) {
      constexpr int64_t kTileRows = kWidth * kPerWord;
      rows = a.rows / kTileRows * kTileRows;
      columns = a.columns / kWidth * kWidth;
      for (int64_t r = 0; r < rows; r += kTileRows) {
        for (int64_t c = 0; c < columns; c += kWidth) {
          Vec::TransposeTile(a.data + r * a.columns + c, a.columns,
                             to + c * stride + r, stride);
        }
      }
    }
    for (int64_t c = 0; c < a.columns; ++c) {
      Number* const row = to + c * stride;
      for (int64_t r = c < columns ? rows : 0; r < a.rows; ++r) {
        row[r] = a.data[r * a.columns + c];
      }
      std::fill(row + a.rows, row + stride, Number{});
    }
  }

 private:
  using P = Panels<Vec>;
  using Register = typename Vec::Register;
  using Word = typename P::Word;
  using Operands = ProductOperands<Number>;
  static constexpr int64_t kPerWord = P::kPerWord;
  static constexpr int64_t kWidth = P::kWidth;

  static int64_t Words(int64_t numbers) { return P::Words(numbers); }
  static int64_t Vectors(int64_t columns) { return P::Vectors(columns); }

  // Of `filled` columns from `first` on, the words that begin with `row`.
  static void PackWords(const FactorOf<Number>& b, int64_t row, int64_t first,
                        int64_t filled, Number* to) {
    const int64_t rows = b.transposed ? b.columns : b.rows;
    const int64_t row_stride = b.transposed ? 1 : b.columns;
    const int64_t column_stride = b.transposed ? b.columns : 1;
    const Number* const from =
        b.data + row * row_stride + first * column_stride;
    if (row + kPerWord > rows) {
      for (int64_t c = 0; c < filled; ++c) {
        to[c * kPerWord] = from[c * column_stride];
        to[(c + 1) * kPerWord - 1] = Number{};
      }
    } else if (b.transposed) {
      for (int64_t c = 0; c < filled; ++c) {
        std::copy_n(from + c * column_stride, kPerWord, to + c * kPerWord);
      }
    } else {
      // By whole registers, whose copies need no loop.
      int64_t c = 0;
      for (; c + kWidth <= filled; c += kWidth) {
        PackRow(from + c, row_stride, kWidth, to + c * kPerWord);
      }
      PackRow(from + c, row_stride, filled - c, to + c * kPerWord);
    }
  }

  static inline __attribute__((always_inline)) void PackRow(const Number* from,
                                                            int64_t row_stride,
                                                            int64_t columns,
                                                            Number* to) {
    if constexpr (kPerWord == 1) {
      std::copy_n(from, columns, to);
    } else {
      InterleaveRows(from, from + row_stride, columns, to);
    }
  }

  static void Rows(const Operands& of) {
    int64_t row = 0;
    for (; row + Vec::kRows <= of.rows; row += Vec::kRows) {
      AllPanels<Vec::kRows>(of, row);
    }
    for (; row + 2 <= of.rows; row += 2) AllPanels<2>(of, row);
    if (row < of.rows) AllPanels<1>(of, row);
  }

  template <int kRows>
  static void AllPanels(const Operands& of, int64_t row) {
    const Number* const a = of.a + row * of.inner;
    for (int64_t first = 0; first < of.columns;) {
      const int64_t vectors = P::PanelVectors(of.columns - first);
      const Number* const panel =
          of.packed + first * Words(of.inner) * kPerWord;
      float* const out = of.out + row * of.columns + first;
      const int64_t left = of.columns - first;
      switch (vectors) {
        case 1:
          Tile<kRows, 1>(of, a, panel, left, out);
          break;
        case 2:
          Tile<kRows, 2>(of, a, panel, left, out);
          break;
        default:
          Tile<kRows, 3>(of, a, panel, left, out);
      }
      first += vectors * kWidth;
    }
  }

  // `left`: columns from the panel's first one on.
  template <int kRows, int kVectors>
  static void Tile(const Operands& of, const Number* a, const Number* panel,
                   int64_t left, float* out) {
    constexpr int kLast = kVectors - 1;
    const auto last = Vec::FirstLanes(std::min(left - kLast * kWidth, kWidth));
    Register sums[kRows][kVectors];
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = Vec::Zero();
        if (!of.adds) continue;
        const float* const from = out + i * of.columns + j * kWidth;
        sums[i][j] = j == kLast ? Vec::LoadFirst(from, last) : Vec::Load(from);
      }
    }
    const int64_t words = of.inner / kPerWord;
    for (int64_t k = 0; k < words; ++k) {
      AddWords<kRows, kVectors>(
          panel + k * kVectors * kWidth * kPerWord, sums,
          [=](int i) { return P::WordAt(a + i * of.inner + k * kPerWord); });
    }
    // The last number of a row may have none to make a word with.
    if (words < Words(of.inner)) {
      AddWords<kRows, kVectors>(
          panel + words * kVectors * kWidth * kPerWord, sums, [=](int i) {
            Number word[kPerWord] = {a[i * of.inner + words * kPerWord]};
            return P::WordAt(word);
          });
    }
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        float* const to = out + i * of.columns + j * kWidth;
        if (j == kLast) {
          Vec::StoreFirst(to, last, sums[i][j]);
        } else {
          Vec::Store(to, sums[i][j]);
        }
      }
    }
  }

  template <int kRows, int kVectors, typename WordOf>
  static inline __attribute__((always_inline)) void AddWords(
      const Number* packed, Register (&sums)[kRows][kVectors],
      WordOf word_of_row) {
    typename Vec::Packed b[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      b[j] = Vec::LoadPacked(packed + j * kWidth * kPerWord);
    }
    for (int i = 0; i < kRows; ++i) {
      const Word x = word_of_row(i);
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = Vec::MulAdd(x, b[j], sums[i][j]);
      }
    }
  }
};

template <typename Vec>
constexpr ProductKernelsOf<typename Vec::Number> ProductsOf(const char* name) {
  return {.name = name,
          .packed_numbers = ProductBody<Vec>::PackedNumbers,
          .pack = ProductBody<Vec>::Pack,
          .multiply = ProductBody<Vec>::Multiply,
          .transpose = ProductBody<Vec>::Transpose,
          .rows_per_block = 256 / sizeof(typename Vec::Number)};
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_
