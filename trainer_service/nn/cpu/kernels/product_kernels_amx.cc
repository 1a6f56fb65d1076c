// Compiled with -mamx-bf16; called only if SupportedProductKernels() has it.
//
// A processor with AMX multiplies whole tiles: 16 rows by 32 numbers of a, 32
// rows by 16 columns of b, a sum of 16 by 16. Two of each are kept at a time,
// so that every loaded tile is used twice. Zeros are not skipped: finding them
// takes longer than multiplying them.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "trainer_service/nn/cpu/kernels/avx512_lanes.h"
#include "trainer_service/nn/cpu/kernels/product_kernels.h"

namespace fgnn {
namespace {

// Rows of a tile of a and of sums; pairs of rows of b.
constexpr int64_t kTileRows = 16;
constexpr int64_t kTileColumns = 16;  // Columns of a tile of b and of sums.
constexpr int64_t kTileInner = 32;    // Numbers of a row of a.
constexpr int64_t kTileNumbers = kTileRows * kTileInner;
constexpr int64_t kTileStride = 64;  // Bytes of a row of any tile.

// Tells the compiler that instructions on tiles read and write memory.
inline void Barrier() { __asm__ volatile("" ::: "memory"); }

int64_t Tiles(int64_t count, int64_t of) { return (count + of - 1) / of; }

// Operand of LDTILECFG: all eight tiles have 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

__mmask16 FirstLanes(int64_t count) {
  return static_cast<__mmask16>(
      (uint32_t{1} << std::clamp<int64_t>(count, 0, 16)) - 1);
}

// Loads 16 numbers, each into the lower half of a word, with zeros from `count`
// on.
__m512i LoadWords(const Bfloat16* from, int64_t count) {
  return _mm512_cvtepu16_epi32(
      _mm256_maskz_loadu_epi16(FirstLanes(count), from));
}

// Packs one tile of b: its rows from `row` on and columns from `column` on,
// pair of rows by pair of rows. The two numbers of a column are side by side.
void PackTile(const FactorOf<Bfloat16>& b, int64_t row, int64_t column,
              Bfloat16* to) {
  const int64_t rows = (b.transposed ? b.columns : b.rows) - row;
  const int64_t columns = (b.transposed ? b.rows : b.columns) - column;
  if (b.transposed) {
    // A column of b is stored as a row, whose pairs are already words.
    const __mmask32 numbers =
        static_cast<__mmask32>((uint64_t{1} << std::min(rows, kTileInner)) - 1);
    __m512i words[kTileColumns];
    for (int64_t c = 0; c < kTileColumns; ++c) {
      const Bfloat16* const from = b.data + (column + c) * b.columns + row;
      words[c] = c < columns ? _mm512_maskz_loadu_epi16(numbers, from)
                             : _mm512_setzero_si512();
    }
    Avx512Lanes::TransposeWords(words);
    for (int64_t r = 0; r < kTileRows; ++r) {
      _mm512_store_si512(to + r * 2 * kTileColumns, words[r]);
    }
    return;
  }
  for (int64_t r = 0; r < kTileRows; ++r) {
    const Bfloat16* const from = b.data + (row + 2 * r) * b.columns + column;
    __m512i pairs = _mm512_setzero_si512();
    if (2 * r < rows) pairs = LoadWords(from, columns);
    if (2 * r + 1 < rows) {
      pairs = _mm512_or_si512(
          pairs, _mm512_slli_epi32(LoadWords(from + b.columns, columns), 16));
    }
    _mm512_store_si512(to + r * 2 * kTileColumns, pairs);
  }
}

int64_t PackedBytes(int64_t rows, int64_t columns) {
  return Tiles(rows, kTileInner) * Tiles(columns, kTileColumns) * kTileRows *
         kTileStride;
}

// Tiles of the same columns follow one another.
void Pack(const FactorOf<Bfloat16>& b, void* packed) {
  auto* to = static_cast<Bfloat16*>(packed);
  const int64_t rows = b.transposed ? b.columns : b.rows;
  const int64_t columns = b.transposed ? b.rows : b.columns;
  for (int64_t column = 0; column < columns; column += kTileColumns) {
    for (int64_t row = 0; row < rows; row += kTileInner) {
      PackTile(b, row, column, to);
      to += kTileNumbers;
    }
  }
}

// Sums: tiles 0 and 1 for the first 16 rows, 2 and 3 for the others. Tiles of
// a: 4 and 5; of b: 6 and 7.
class Product {
 public:
  Product(const FactorOf<Bfloat16>& a, const Bfloat16* packed, int64_t columns,
          Into into, float* out)
      : a_(a),
        packed_(packed),
        columns_(columns),
        inner_tiles_(Tiles(a.columns, kTileInner)),
        has_copies_(a.columns % kTileInner != 0),
        adds_(into == Into::kAdd),
        out_(out) {}

  void Run() {
    const TileConfig config;
    _tile_loadconfig(&config);
    Barrier();
    // All rows of a chunk but the first read tiles of b from the first-level
    // cache.
    for (int64_t chunk = 0; chunk < a_.rows; chunk += kChunkRows) {
      CopyLastTiles(chunk);
      const int64_t end = std::min(chunk + kChunkRows, a_.rows);
      for (int64_t column = 0; column < columns_; column += 2 * kTileColumns) {
        for (int64_t row = chunk; row < end; row += 2 * kTileRows) {
          OneOrTwo(row, column);
        }
      }
    }
    _tile_release();
    Barrier();
  }

 private:
  static constexpr int64_t kChunkRows = 128;

  // Room for the copy of a tile that lies only partly in the matrix.
  struct alignas(64) Spare {
    std::byte bytes[kTileRows * kTileStride];
  };
  struct TilePlace {
    const void* at;
    int64_t stride;
  };

  void OneOrTwo(int64_t row, int64_t column) const {
    const bool rows = row + kTileRows < a_.rows;
    const bool columns = column + kTileColumns < columns_;
    if (rows && columns) {
      Block<true, true>(row, column);
    } else if (rows) {
      Block<true, false>(row, column);
    } else if (columns) {
      Block<false, true>(row, column);
    } else {
      Block<false, false>(row, column);
    }
  }

  template <bool kTwoRows, bool kTwoColumns>
  void Block(int64_t row, int64_t column) const {
    LoadSums<kTwoRows, kTwoColumns>(row, column);
    const Bfloat16* b =
        packed_ + column / kTileColumns * inner_tiles_ * kTileNumbers;
    for (int64_t tile = 0; tile < inner_tiles_; ++tile) {
      Spare spare;
      const TilePlace first = PlaceOfA(row, tile, &spare);
      _tile_loadd(4, first.at, first.stride);
      Barrier();
      _tile_loadd(6, b, kTileStride);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kTwoColumns) {
        _tile_loadd(7, b + inner_tiles_ * kTileNumbers, kTileStride);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (kTwoRows) {
        const TilePlace second = PlaceOfA(row + kTileRows, tile, &spare);
        _tile_loadd(5, second.at, second.stride);
        Barrier();
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (kTwoColumns) _tile_dpbf16ps(3, 5, 7);
      }
      b += kTileNumbers;
    }
    StoreSums<kTwoRows, kTwoColumns>(row, column);
  }

  TilePlace PlaceOfA(int64_t row, int64_t tile, Spare* spare) const {
    if (tile + 1 == inner_tiles_ && has_copies_) {
      return {&last_tiles_[row % kChunkRows / kTileRows], kTileStride};
    }
    if (row + kTileRows > a_.rows) {
      CopyTile(row, tile, spare);
      return {spare, kTileStride};
    }
    return {a_.data + row * a_.columns + tile * kTileInner,
            a_.columns * static_cast<int64_t>(sizeof(Bfloat16))};
  }

  // If the rows are no multiple of a tile, their ends are copied once for all
  // columns of b.
  void CopyLastTiles(int64_t chunk) {
    if (!has_copies_) return;
    const int64_t end = std::min(chunk + kChunkRows, a_.rows);
    for (int64_t row = chunk; row < end; row += kTileRows) {
      CopyTile(row, inner_tiles_ - 1,
               &last_tiles_[row % kChunkRows / kTileRows]);
    }
  }

  // Fills with zeros where a has no numbers.
  void CopyTile(int64_t row, int64_t tile, Spare* to) const {
    const int64_t inner = tile * kTileInner;
    const __mmask32 lanes = static_cast<__mmask32>(
        (uint64_t{1} << std::min(a_.columns - inner, kTileInner)) - 1);
    for (int64_t r = 0; r < kTileRows; ++r) {
      const Bfloat16* const from = a_.data + (row + r) * a_.columns + inner;
      _mm512_store_si512(to->bytes + r * kTileStride,
                         row + r < a_.rows
                             ? _mm512_maskz_loadu_epi16(lanes, from)
                             : _mm512_setzero_si512());
    }
    Barrier();
  }

  bool IsWhole(int64_t row, int64_t column) const {
    return row + kTileRows <= a_.rows && column + kTileColumns <= columns_;
  }

  float* At(int64_t row, int64_t column) const {
    return out_ + row * columns_ + column;
  }

  int64_t out_stride() const {
    return columns_ * static_cast<int64_t>(sizeof(float));
  }

  // Copies the sums of a tile that lies only partly in `out`, with zeros behind
  // them.
  TilePlace CopyOfSums(int64_t row, int64_t column, Spare* spare) const {
    const __mmask16 lanes = FirstLanes(columns_ - column);
    for (int64_t r = 0; r < kTileRows; ++r) {
      const __m512 copy =
          row + r < a_.rows ? _mm512_maskz_loadu_ps(lanes, At(row + r, column))
                            : _mm512_setzero_ps();
      _mm512_store_ps(spare->bytes + r * kTileStride, copy);
    }
    Barrier();
    return {spare, kTileStride};
  }

  void CopyBack(const Spare& spare, int64_t row, int64_t column) const {
    const __mmask16 lanes = FirstLanes(columns_ - column);
    const int64_t rows = std::min(kTileRows, a_.rows - row);
    for (int64_t r = 0; r < rows; ++r) {
      _mm512_mask_storeu_ps(At(row + r, column), lanes,
                            _mm512_load_ps(spare.bytes + r * kTileStride));
    }
  }

  template <bool kTwoRows, bool kTwoColumns>
  void LoadSums(int64_t row, int64_t column) const {
    if (!adds_) {
      _tile_zero(0);
      if constexpr (kTwoColumns) _tile_zero(1);
      if constexpr (kTwoRows) _tile_zero(2);
      if constexpr (kTwoRows && kTwoColumns) _tile_zero(3);
      return;
    }
    const int64_t next_row = row + kTileRows;
    const int64_t next_column = column + kTileColumns;
    LoadSum(row, column, [](auto at) { _tile_loadd(0, at.at, at.stride); });
    if constexpr (kTwoColumns) {
      LoadSum(row, next_column,
              [](auto at) { _tile_loadd(1, at.at, at.stride); });
    }
    if constexpr (kTwoRows) {
      LoadSum(next_row, column,
              [](auto at) { _tile_loadd(2, at.at, at.stride); });
    }
    if constexpr (kTwoRows && kTwoColumns) {
      LoadSum(next_row, next_column,
              [](auto at) { _tile_loadd(3, at.at, at.stride); });
    }
  }

  template <bool kTwoRows, bool kTwoColumns>
  void StoreSums(int64_t row, int64_t column) const {
    const int64_t next_row = row + kTileRows;
    const int64_t next_column = column + kTileColumns;
    StoreSum(row, column,
             [](void* to, int64_t stride) { _tile_stored(0, to, stride); });
    if constexpr (kTwoColumns) {
      StoreSum(row, next_column,
               [](void* to, int64_t stride) { _tile_stored(1, to, stride); });
    }
    if constexpr (kTwoRows) {
      StoreSum(next_row, column,
               [](void* to, int64_t stride) { _tile_stored(2, to, stride); });
    }
    if constexpr (kTwoRows && kTwoColumns) {
      StoreSum(next_row, next_column,
               [](void* to, int64_t stride) { _tile_stored(3, to, stride); });
    }
  }

  template <typename Load>
  void LoadSum(int64_t row, int64_t column, Load load) const {
    if (IsWhole(row, column)) {
      load(TilePlace{At(row, column), out_stride()});
      return;
    }
    Spare spare;
    load(CopyOfSums(row, column, &spare));
    Barrier();
  }

  template <typename Store>
  void StoreSum(int64_t row, int64_t column, Store store) const {
    if (IsWhole(row, column)) {
      store(At(row, column), out_stride());
      return;
    }
    Spare spare;
    store(spare.bytes, kTileStride);
    Barrier();
    CopyBack(spare, row, column);
  }

  const FactorOf<Bfloat16>& a_;
  const Bfloat16* const packed_;
  const int64_t columns_;
  const int64_t inner_tiles_;
  const bool has_copies_;
  const bool adds_;
  float* const out_;
  // Last tiles of a chunk, if has_copies_.
  Spare last_tiles_[kChunkRows / kTileRows];
};

void Multiply(const FactorOf<Bfloat16>& a, const void* packed, int64_t columns,
              Into into, float* out) {
  Product(a, static_cast<const Bfloat16*>(packed), columns, into, out).Run();
}

void Transpose(const FactorOf<Bfloat16>& a, Bfloat16* to) {
  kBfloat16ProductsAvx512.transpose(a, to);
}

}  // namespace

constexpr ProductKernelsOf<Bfloat16> kBfloat16ProductsAmx = {
    .name = "amx",
    .packed_bytes = PackedBytes,
    .pack = Pack,
    .multiply = Multiply,
    .transpose = Transpose,
    .rows_per_block = 512};

}  // namespace fgnn
