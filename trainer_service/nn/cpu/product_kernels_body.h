// The kernel, for any width of register. A tile of rows times a panel of
// columns stays in registers while it is summed: each load of b serves kRows
// rows, each broadcast of a serves up to three registers.
//
// What is broadcast and what a lane of b holds is a word of 32 bits: one float,
// or two bfloat16 that follow one another in the order of the sum.
//
// Packed: panels of columns, in each of them row after row, or of bfloat16 pair
// of rows after pair of rows, as PairRows() has them. A panel is two registers
// wide; the last is as wide as what is left, up to three, with zeros behind the
// last column.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "trainer_service/nn/cpu/product_kernels.h"

namespace fgnn {

// Vec: Number; Register, kWidth floats; kRows of a tile; Zero, Load and Store
// of sums; LoadPacked of kWidth words; MulAdd(x, b, sum) = x * b + sum with the
// word x broadcast, for each number of it.
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
      const int64_t width = PanelVectors(columns - first) * kWidth;
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
  using Word =
      std::conditional_t<std::is_same_v<Number, float>, float, uint32_t>;
  static constexpr int64_t kPerWord = sizeof(Word) / sizeof(Number);
  static constexpr int64_t kWidth = Vec::kWidth;
  static constexpr int kMostVectors = 3;

  struct Operands {
    const Number* a;
    int64_t a_stride;
    int64_t inner;
    const Number* packed;
    int64_t columns;
    bool adds;
    float* out;
  };

  static int64_t Words(int64_t numbers) {
    return (numbers + kPerWord - 1) / kPerWord;
  }
  static int64_t Vectors(int64_t columns) {
    return (columns + kWidth - 1) / kWidth;
  }
  static int64_t PanelVectors(int64_t columns) {
    const int64_t left = Vectors(columns);
    return left <= kMostVectors ? left : 2;
  }

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
      if constexpr (kPerWord == 1) {
        std::copy_n(from, filled, to);
      } else {
        InterleaveRows(from, from + row_stride, filled, to);
      }
    }
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
    const Number* const a = of.a + row * (kTransposed ? kPerWord : of.a_stride);
    for (int64_t first = 0; first < of.columns;) {
      const int64_t vectors = PanelVectors(of.columns - first);
      const Number* const panel =
          of.packed + first * Words(of.inner) * kPerWord;
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
  static void Panel(const Operands& of, const Number* a, const Number* panel,
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
  static void Tile(const Operands& of, const Number* a, const Number* panel,
                   float* out, int64_t out_stride) {
    Register sums[kRows][kVectors];
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = of.adds ? Vec::Load(out + i * out_stride + j * kWidth)
                             : Vec::Zero();
      }
    }
    // Only the last number of a row has none to make a word with: pairs of rows
    // are filled up.
    const int64_t words = kTransposed ? Words(of.inner) : of.inner / kPerWord;
    for (int64_t k = 0; k < words; ++k) {
      AddWords<kRows, kVectors>(
          panel + k * kVectors * kWidth * kPerWord, sums, [=](int i) {
            return WordAt(kTransposed ? a + (k * of.a_stride + i) * kPerWord
                                      : a + i * of.a_stride + k * kPerWord);
          });
    }
    if (!kTransposed && words < Words(of.inner)) {
      AddWords<kRows, kVectors>(
          panel + words * kVectors * kWidth * kPerWord, sums, [=](int i) {
            Number word[kPerWord] = {a[i * of.a_stride + words * kPerWord]};
            return WordAt(word);
          });
    }
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        Vec::Store(out + i * out_stride + j * kWidth, sums[i][j]);
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

  // Pairs need not lie at a boundary of words.
  static Word WordAt(const Number* numbers) {
    Word word;
    std::memcpy(&word, numbers, sizeof(word));
    return word;
  }
};

template <typename Vec>
constexpr ProductKernelsOf<typename Vec::Number> ProductsOf(const char* name) {
  return {.name = name,
          .packed_numbers = ProductBody<Vec>::PackedNumbers,
          .pack = ProductBody<Vec>::Pack,
          .multiply = ProductBody<Vec>::Multiply};
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_BODY_H_
