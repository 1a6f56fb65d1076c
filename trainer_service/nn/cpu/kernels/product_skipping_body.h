// A product whose left factor is mostly zeros, as ReLU and dropout leave it. Of
// each row of a, only the words that are not zero are multiplied. Zeros add
// nothing to a sum, so the bits are those of the whole product, unless b is not
// finite.
//
// A block is as many rows of b, of up to nine registers each, as the
// first-level cache holds. It serves all rows of a. A sum is kept in registers
// over a block, and in `out` between blocks.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_SKIPPING_BODY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_SKIPPING_BODY_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "trainer_service/nn/cpu/kernels/product_panels.h"

namespace fgnn {

// Vec: see ProductBody.
template <typename Vec>
class SkippingBody {
 public:
  using Number = typename Vec::Number;
  using Operands = ProductOperands<Vec>;

  // Returns true if a has enough zero words that multiplying only the others
  // takes less time. Both ways give the same bits.
  static bool Pays(const Operands& of) {
    const int64_t words = of.inner / P::kPerWord;
    if (of.inner % P::kPerWord != 0 || words < kLeastWords ||
        P::Vectors(of.columns) <= P::kMostVectors) {
      return false;
    }
    // A sample of the rows is enough.
    const int64_t step = std::max<int64_t>(of.rows / kRowsToCount, 1);
    int64_t counted = 0;
    int64_t not_zero = 0;
    for (int64_t row = 0; row < of.rows; row += step) {
      const Number* const a = of.a + row * of.inner;
      for (int64_t first = 0; first < words; first += kBlockWords) {
        not_zero +=
            std::popcount(NotZero(a + first * P::kPerWord, words - first));
      }
      counted += words;
    }
    return static_cast<double>(not_zero) <=
           Vec::kMostToMultiply * static_cast<double>(counted);
  }

  static void Multiply(const Operands& of) {
    const int64_t words = of.inner / P::kPerWord;
    Block block;
    for (int64_t row = 0; row < of.rows; row += kBlockRows) {
      for (int64_t word = 0; word < words; word += kBlockWords) {
        Choose(of, row, word, &block);
        Groups(of, block);
      }
    }
  }

 private:
  using P = Panels<Vec>;
  using Register = typename Vec::Register;
  using Word = typename P::Word;
  static constexpr int64_t kBlockWords = 64;
  static constexpr int64_t kBlockRows = 256;
  static constexpr int64_t kLeastWords = 32;
  static constexpr int64_t kRowsToCount = 16;
  static constexpr int kMostPanels = 4;

  // Some words of some rows of a. Rows with the same number of nonzero words
  // follow one another: the processor then predicts the end of the loop over
  // them.
  struct Block {
    const Number* a;  // Begin of its first row and word.
    float* out;       // Begin of its first row.
    int64_t first_word;
    int64_t rows;
    uint64_t not_zero[kBlockRows];
    // The rows, sorted by their number of nonzero words.
    uint16_t order[kBlockRows];
  };

  // Some panels of b. If the number is one more than the panels of two
  // registers, the last is the one of three.
  struct Group {
    int64_t first_column;
    int64_t columns;
    bool adds;
  };

  static void Choose(const Operands& of, int64_t first_row, int64_t first_word,
                     Block* block) {
    const int64_t words = of.inner / P::kPerWord;
    block->a = of.a + first_row * of.inner + first_word * P::kPerWord;
    block->out = of.out + first_row * of.columns;
    block->first_word = first_word;
    block->rows = std::min(kBlockRows, of.rows - first_row);
    // A counting sort: ends[n + 1] is where the rows with n words begin.
    uint16_t ends[kBlockWords + 2] = {};
    for (int64_t row = 0; row < block->rows; ++row) {
      block->not_zero[row] =
          NotZero(block->a + row * of.inner, words - first_word);
      ++ends[std::popcount(block->not_zero[row]) + 1];
    }
    for (int64_t n = 1; n < kBlockWords + 2; ++n) ends[n] += ends[n - 1];
    for (int64_t row = 0; row < block->rows; ++row) {
      block->order[ends[std::popcount(block->not_zero[row])]++] =
          static_cast<uint16_t>(row);
    }
  }

  // Returns a bit for each of the first kBlockWords words of a row, which has
  // `words`: 1 if the word is not zero.
  static uint64_t NotZero(const Number* row, int64_t words) {
    uint64_t bits = 0;
    if (words >= kBlockWords) {
      for (int64_t w = 0; w < kBlockWords; w += P::kWidth) {
        bits |= uint64_t{Vec::NotZero(row + w * P::kPerWord)} << w;
      }
      return bits;
    }
    for (int64_t w = 0; w < words; ++w) {
      const bool zero = Vec::IsZero(P::WordAt(row + w * P::kPerWord));
      bits |= uint64_t{!zero} << w;
    }
    return bits;
  }

  static void Groups(const Operands& of, const Block& block) {
    const bool adds = of.adds || block.first_word > 0;
    const bool tail = P::Vectors(of.columns) % 2 == 1;
    int64_t left = P::Vectors(of.columns) / 2;  // Number of panels.
    for (int64_t first = 0; first < of.columns;) {
      // All groups but one have the same number of panels.
      const int64_t groups = (left + kMostPanels - 1) / kMostPanels;
      const int64_t panels = (left + groups - 1) / groups;
      left -= panels;
      const bool last = left == 0;
      const int64_t columns =
          last ? of.columns - first : 2 * panels * P::kWidth;
      OfSize(panels, last && tail, of, block, {first, columns, adds});
      first += columns;
    }
  }

  static void OfSize(int64_t panels, bool tail, const Operands& of,
                     const Block& block, const Group& group) {
    switch (2 * panels + (tail ? 1 : 0)) {
      case 4:
        return Rows<2, false>(of, block, group);
      case 5:
        return Rows<1, true>(of, block, group);
      case 6:
        return Rows<3, false>(of, block, group);
      case 7:
        return Rows<2, true>(of, block, group);
      case 8:
        return Rows<4, false>(of, block, group);
      default:
        return Rows<3, true>(of, block, group);
    }
  }

  // Multiplies kPairs panels of two registers, then one of three if kTail.
  template <int kPairs, bool kTail>
  static void Rows(const Operands& of, const Block& block, const Group& group) {
    constexpr int kRegisters = 2 * kPairs + (kTail ? 3 : 0);
    const int64_t words = P::Words(of.inner);
    const Word* panels[kMostPanels + 1];
    for (int p = 0; p <= kPairs; ++p) {
      const int64_t in_panel = block.first_word * (p < kPairs ? 2 : 3);
      panels[p] = of.packed + (group.first_column + 2 * p * P::kWidth) * words +
                  in_panel * P::kWidth;
    }
    constexpr int kLast = kRegisters - 1;
    const auto last = Vec::FirstLanes(group.columns - kLast * P::kWidth);
    for (int64_t i = 0; i < block.rows; ++i) {
      const int64_t row = block.order[i];
      float* const out = block.out + row * of.columns + group.first_column;
      Register sums[kRegisters];
      for (int r = 0; r < kLast; ++r) {
        sums[r] = group.adds ? Vec::Load(out + r * P::kWidth) : Vec::Zero();
      }
      sums[kLast] = group.adds ? Vec::LoadFirst(out + kLast * P::kWidth, last)
                               : Vec::Zero();
      AddWords<kPairs, kTail>(block.a + row * of.inner, block.not_zero[row],
                              panels, sums);
      for (int r = 0; r < kLast; ++r) Vec::Store(out + r * P::kWidth, sums[r]);
      Vec::StoreFirst(out + kLast * P::kWidth, last, sums[kLast]);
    }
  }

  template <int kPairs, bool kTail>
  static inline __attribute__((always_inline)) void AddWords(
      const Number* a, uint64_t not_zero,
      const Word* const (&panels)[kMostPanels + 1],
      Register (&sums)[2 * kPairs + (kTail ? 3 : 0)]) {
    for (; not_zero != 0; not_zero &= not_zero - 1) {
      const int64_t k = std::countr_zero(not_zero);
      const Word x = P::WordAt(a + k * P::kPerWord);
      for (int p = 0; p < kPairs; ++p) {
        const Word* const b = panels[p] + k * 2 * P::kWidth;
        for (int r = 2 * p; r < 2 * p + 2; ++r) {
          sums[r] =
              Vec::MulAdd(x, Vec::LoadPacked(b + r % 2 * P::kWidth), sums[r]);
        }
      }
      const Word* const b = panels[kPairs] + k * 3 * P::kWidth;
      for (int r = 0; kTail && r < 3; ++r) {
        sums[2 * kPairs + r] = Vec::MulAdd(
            x, Vec::LoadPacked(b + r * P::kWidth), sums[2 * kPairs + r]);
      }
    }
  }
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_SKIPPING_BODY_H_
