// How the right factor of a product is laid out for the kernels.
//
// What is broadcast of a and what a lane of b holds is a word of 32 bits: one
// float, or two bfloat16 that follow one another in the order of the sum.
//
// Packed: panels of columns, in each of them row after row, or of bfloat16 pair
// of rows after pair of rows, the numbers of a column side by side. A panel is
// two registers wide; the last is as wide as what is left, up to three, with
// zeros behind the last column.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_PANELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_PANELS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace fgnn {

// out [rows, columns] = or += a [rows, inner] * packed.
template <typename Number>
struct ProductOperands {
  const Number* a;
  int64_t rows;
  int64_t inner;
  const Number* packed;
  int64_t columns;
  bool adds;
  float* out;
};

// Vec: see ProductBody.
template <typename Vec>
struct Panels {
  using Number = typename Vec::Number;
  using Word =
      std::conditional_t<std::is_same_v<Number, float>, float, uint32_t>;
  static constexpr int64_t kPerWord = sizeof(Word) / sizeof(Number);
  static constexpr int64_t kWidth = Vec::kWidth;
  static constexpr int64_t kMostVectors = 3;

  static int64_t Words(int64_t numbers) {
    return (numbers + kPerWord - 1) / kPerWord;
  }
  static int64_t Vectors(int64_t columns) {
    return (columns + kWidth - 1) / kWidth;
  }
  // Registers of the panel that begins where `columns` are left.
  static int64_t PanelVectors(int64_t columns) {
    const int64_t left = Vectors(columns);
    return left <= kMostVectors ? left : 2;
  }
  // Pairs need not lie at a boundary of words.
  static Word WordAt(const Number* numbers) {
    Word word;
    std::memcpy(&word, numbers, sizeof(word));
    return word;
  }
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_PANELS_H_
