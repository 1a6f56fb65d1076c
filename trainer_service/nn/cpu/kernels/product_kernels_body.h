// The kernel, for any width of register. A tile of rows times a panel of
// columns stays in registers while it is summed. Each load of b serves kRows
// rows; each broadcast of a serves up to three registers.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_KERNELS_BODY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_KERNELS_BODY_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "trainer_service/nn/cpu/kernels/product_kernels.h"
#include "trainer_service/nn/cpu/kernels/product_panels.h"
#include "trainer_service/nn/cpu/kernels/product_skipping_body.h"

namespace fgnn {

// Vec: Number and Word, see Panels; Register, kWidth floats; kRows of a tile of
// two registers a row, kMostSums registers of any; Zero, Load and Store of
// sums, LoadFirst and StoreFirst of FirstLanes(count) of them; LoadPacked of
// kWidth words; MulAdd(x, b, sum) = x * b + sum with the word x broadcast, for
// each number of it; NotZero, a bit for each of kWidth words, and IsZero of
// one; kMostToMultiply, the share of words up to which skipping the others
// pays; TransposeTile(from, from_stride, to, to_stride) of kWidth words by
// kWidth, or none.
template <typename Vec>
class ProductBody {
 public:
  using Number = typename Vec::Number;

  static int64_t PackedBytes(int64_t rows, int64_t columns) {
    return Words(rows) * Vectors(columns) * kWidth *
           static_cast<int64_t>(sizeof(Word));
  }

  static void Pack(const FactorOf<Number>& b, void* packed) {
    auto* to = static_cast<Word*>(packed);
    const int64_t rows = b.transposed ? b.columns : b.rows;
    const int64_t columns = b.transposed ? b.rows : b.columns;
    for (int64_t first = 0; first < columns;) {
      const int64_t width = P::PanelVectors(columns - first) * kWidth;
      const int64_t filled = std::min(width, columns - first);
      for (int64_t row = 0; row < Words(rows) * kPerWord; row += kPerWord) {
        PackWords(b, row, first, filled, to);
        std::fill(to + filled, to + width, Word{});
        to += width;
      }
      first += width;
    }
  }

  static void Multiply(const FactorOf<Number>& a, const void* packed,
                       int64_t columns, Into into, float* out) {
    const Operands of = {.a = a.data,
                         .rows = a.rows,
                         .inner = a.columns,
                         .packed = static_cast<const Word*>(packed),
                         .columns = columns,
                         .adds = into == Into::kAdd,
                         .out = out};
    if (SkippingBody<Vec>::Pays(of)) {
      SkippingBody<Vec>::Multiply(of);
    } else {
      Rows(of);
    }
  }

  // Writes a^T to `to` [a's columns, a's rows, for whole words], with zeros
  // behind its rows.
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
  using Operands = ProductOperands<Vec>;
  static constexpr int64_t kPerWord = P::kPerWord;
  static constexpr int64_t kWidth = P::kWidth;

  static int64_t Words(int64_t numbers) { return P::Words(numbers); }
  static int64_t Vectors(int64_t columns) { return P::Vectors(columns); }

  // Packs the words that begin with `row`, of `filled` columns from `first` on.
  static void PackWords(const FactorOf<Number>& b, int64_t row, int64_t first,
                        int64_t filled, Word* to) {
    const int64_t left = (b.transposed ? b.columns : b.rows) - row;
    if (left == 0) {
      std::fill_n(to, filled, Word{});
      return;
    }
    const int64_t row_stride = b.transposed ? 1 : b.columns;
    const int64_t column_stride = b.transposed ? b.columns : 1;
    const Number* const from =
        b.data + row * row_stride + first * column_stride;
    if (left < kPerWord) {
      for (int64_t c = 0; c < filled; ++c) {
        const Number word[kPerWord] = {from[c * column_stride]};
        to[c] = P::WordAt(word);
      }
    } else if (b.transposed) {
      for (int64_t c = 0; c < filled; ++c) {
        to[c] = P::WordAt(from + c * column_stride);
      }
    } else {
      // Copies by whole registers need no loop.
      int64_t c = 0;
      for (; c + kWidth <= filled; c += kWidth) {
        PackRow(from + c, row_stride, kWidth, to + c);
      }
      PackRow(from + c, row_stride, filled - c, to + c);
    }
  }

  static inline __attribute__((always_inline)) void PackRow(const Number* from,
                                                            int64_t row_stride,
                                                            int64_t columns,
                                                            Word* to) {
    if constexpr (kPerWord == 1) {
      for (int64_t c = 0; c < columns; ++c) to[c] = P::WordAt(from + c);
    } else {
      InterleaveRows(from, from + row_stride, columns, to);
    }
  }

  // Words of some rows, read from a itself.
  struct StoredRows {
    const Number* first;
    int64_t inner;
    Word operator()(int row, int64_t word) const {
      return P::WordAt(first + row * inner + word * kPerWord);
    }
  };
  // Words of rows that were widened.
  struct WidenedRows {
    const float* first;
    int64_t stride;
    float operator()(int row, int64_t word) const {
      return first[row * stride + word];
    }
  };
  // The sums of a tile: `words` of the rows from `row` on, times the rows of
  // words of b from `first` on.
  template <typename LeftRows>
  struct Strip {
    LeftRows a;
    int64_t row;
    int64_t first;
    int64_t words;
    bool adds;
  };

  static void Rows(const Operands& of) {
    int64_t row = 0;
    for (; row + Vec::kRows <= of.rows; row += Vec::kRows) {
      SomeRows<Vec::kRows>(of, row);
    }
    if constexpr (Vec::kRows > 4) {
      for (; row + 4 <= of.rows; row += 4) SomeRows<4>(of, row);
    }
    for (; row + 2 <= of.rows; row += 2) SomeRows<2>(of, row);
    if (row < of.rows) SomeRows<1>(of, row);
  }

  template <int kRows>
  static void SomeRows(const Operands& of, int64_t row) {
    const Number* const a = of.a + row * of.inner;
    if constexpr (!P::kWidens) {
      AllPanels<kRows, StoredRows>(
          of, {{a, of.inner}, row, 0, of.inner / kPerWord, of.adds});
    } else {
      // Most words at a time, so that b has room in the first-level cache.
      constexpr int64_t kMostWords = 512;
      float widened[kRows * kMostWords];
      int64_t first = 0;
      do {
        const int64_t words = std::min(kMostWords, of.inner - first);
        for (int i = 0; i < kRows; ++i) {
          const Number* const from = a + i * of.inner + first;
          for (int64_t w = 0; w < words; ++w) {
            widened[i * kMostWords + w] = Widen(from[w]);
          }
        }
        AllPanels<kRows, WidenedRows>(
            of,
            {{widened, kMostWords}, row, first, words, of.adds || first > 0});
        first += words;
      } while (first < of.inner);
    }
  }

  template <int kRows, typename LeftRows>
  static void AllPanels(const Operands& of, const Strip<LeftRows>& strip) {
    for (int64_t column = 0; column < of.columns;) {
      const int64_t vectors = P::PanelVectors(of.columns - column);
      switch (vectors) {
        case 1:
          Tile<0, kRows, 1>(of, strip, column);
          break;
        case 2:
          Tile<0, kRows, 2>(of, strip, column);
          break;
        default:
          if constexpr (3 * kRows <= Vec::kMostSums) {
            Tile<0, kRows, 3>(of, strip, column);
          } else {
            Tile<0, kRows / 2, 3>(of, strip, column);
            Tile<kRows / 2, kRows - kRows / 2, 3>(of, strip, column);
          }
      }
      column += vectors * kWidth;
    }
  }

  // Multiplies kRows rows, from the strip's row kFirst on, by the panel of b
  // that begins with `column`.
  template <int kFirst, int kRows, int kVectors, typename LeftRows>
  static void Tile(const Operands& of, const Strip<LeftRows>& strip,
                   int64_t column) {
    constexpr int kLast = kVectors - 1;
    const Word* const panel =
        of.packed + column * Words(of.inner) + strip.first * kVectors * kWidth;
    float* const out = of.out + (strip.row + kFirst) * of.columns + column;
    const auto last =
        Vec::FirstLanes(std::min(of.columns - column - kLast * kWidth, kWidth));
    Register sums[kRows][kVectors];
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) {
        sums[i][j] = Vec::Zero();
        if (!strip.adds) continue;
        const float* const from = out + i * of.columns + j * kWidth;
        sums[i][j] = j == kLast ? Vec::LoadFirst(from, last) : Vec::Load(from);
      }
    }
    for (int64_t k = 0; k < strip.words; ++k) {
      AddWords<kRows, kVectors>(panel + k * kVectors * kWidth, sums,
                                [=](int i) { return strip.a(kFirst + i, k); });
    }
    if constexpr (kPerWord > 1) {
      // The last number of a row may have no second number for its word.
      if (strip.words < Words(of.inner)) {
        AddWords<kRows, kVectors>(
            panel + strip.words * kVectors * kWidth, sums, [=](int i) {
              const Number word[kPerWord] = {
                  strip.a.first[(kFirst + i + 1) * of.inner - 1]};
              return P::WordAt(word);
            });
      }
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
      const Word* packed, Register (&sums)[kRows][kVectors],
      WordOf word_of_row) {
    typename Vec::Packed b[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      b[j] = Vec::LoadPacked(packed + j * kWidth);
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
          .packed_bytes = ProductBody<Vec>::PackedBytes,
          .pack = ProductBody<Vec>::Pack,
          .multiply = ProductBody<Vec>::Multiply,
          .transpose = ProductBody<Vec>::Transpose,
          .rows_per_block = 256 / sizeof(typename Vec::Number)};
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_KERNELS_BODY_H_
