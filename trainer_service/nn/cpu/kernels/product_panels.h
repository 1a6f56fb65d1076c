// The layout of the right factor of a product.
//
// A word of 32 bits is what is broadcast of a, and what a lane of b holds. It
// is one float, or two bfloat16 that follow one another in the order of the
// sum. For processors that multiply no bfloat16 it is one bfloat16 widened to a
// float.
//
// Packed: panels of columns, in each of them row of words after row of words. A
// panel is two registers wide. The last is as wide as what is left, up to three
// registers, with zeros behind the last column. For bfloat16, a row of zeros
// makes the number of rows even.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_PANELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_PANELS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "trainer_service/compute/widen.h"

namespace fgnn {

// Vec: see ProductBody.
template <typename Vec>
struct Panels {
  using Number = typename Vec::Number;
  using Word = typename Vec::Word;
  static constexpr int64_t kNumbersPer32Bits = sizeof(Word) / sizeof(Number);
  static constexpr bool kWidens =
      kNumbersPer32Bits > 1 && std::is_same_v<Word, float>;
  static constexpr int64_t kPerWord = kWidens ? 1 : kNumbersPer32Bits;
  static constexpr int64_t kWidth = Vec::kWidth;
  static constexpr int64_t kMostVectors = 3;

  // Returns the rows of words of a packed factor that has so many rows.
  static int64_t Words(int64_t rows) {
    return (rows + kNumbersPer32Bits - 1) / kNumbersPer32Bits *
           kNumbersPer32Bits / kPerWord;
  }
  static int64_t Vectors(int64_t columns) {
    return (columns + kWidth - 1) / kWidth;
  }
  // Returns the registers of the panel that begins where `columns` are left.
  static int64_t PanelVectors(int64_t columns) {
    const int64_t left = Vectors(columns);
    return left <= kMostVectors ? left : 2;
  }
  // Pairs may lie at any address, not only at a boundary of words.
  static Word WordAt(const Number* numbers) {
    if constexpr (kWidens) {
      return Widen(*numbers);
    } else {
      Word word;
      std::memcpy(&word, numbers, sizeof(word));
      return word;
    }
  }
};

// The product out [rows, columns] = or += a [rows, inner] * packed.
template <typename Vec>
struct ProductOperands {
  const typename Vec::Number* a;
  int64_t rows;
  int64_t inner;
  const typename Vec::Word* packed;
  int64_t columns;
  bool adds;
  float* out;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_PANELS_H_
