// The arithmetic behind CRC32C, for pieces whose checksums are computed apart.
//
// Bytes are a polynomial M over the bits 0 and 1: the first byte's lowest bit
// is its highest power. A polynomial below x^32 is a word whose highest bit is
// x^0, so words of little endian bytes are polynomials as they stand. With the
// law's polynomial P, the remainder of M is M x^32 mod P. It is linear: of two
// pieces it is the first's, moved over the second's bytes, plus the second's.
// Zeros in front of a piece do not change it. The CRC is the inverted remainder
// of the piece behind the remainder ~0.
#ifndef FGNN_SHARED_BASE_CRC32C_LAW_H_
#define FGNN_SHARED_BASE_CRC32C_LAW_H_

#include <cstdint>

#include "shared/base/host_device.h"

namespace fgnn {

inline constexpr uint32_t kCrc32cPolynomial = 0x82f6'3b78;  // P without x^32.
inline constexpr uint32_t kCrc32cOne = 0x8000'0000;         // x^0
// x to this power is 1 mod P: P is (x + 1) and a primitive factor of degree 31.
inline constexpr uint64_t kCrc32cOrder = 0x7fff'ffff;

// Returns p x mod P.
FGNN_HOST_DEVICE constexpr uint32_t Crc32cTimesX(uint32_t p) {
  return p >> 1 ^ ((p & 1) != 0 ? kCrc32cPolynomial : 0);
}

// Returns p q mod P.
FGNN_HOST_DEVICE constexpr uint32_t Crc32cProduct(uint32_t p, uint32_t q) {
  uint32_t product = 0;
  for (int i = 0; i < 32; ++i) {
    if ((q & kCrc32cOne) != 0) product ^= p;
    p = Crc32cTimesX(p);
    q <<= 1;
  }
  return product;
}

// p^(2^i) mod P for each bit i of an exponent below the order.
struct Crc32cSquares {
  uint32_t of[31];
};
constexpr Crc32cSquares Crc32cSquaresOf(uint32_t p) {
  Crc32cSquares squares = {};
  for (uint32_t& square : squares.of) {
    square = p;
    p = Crc32cProduct(p, p);
  }
  return squares;
}
inline constexpr Crc32cSquares kCrc32cSquares =
    Crc32cSquaresOf(kCrc32cOne >> 1);
// Squares of 1 / x, which is (P - 1) / x modulo P.
inline constexpr Crc32cSquares kCrc32cInverseSquares =
    Crc32cSquaresOf((kCrc32cPolynomial ^ kCrc32cOne) << 1 | 1);

// Returns p moved over `bytes` bytes: p x^(8 bytes) mod P. Fewer than 0 bytes
// move it back.
constexpr uint32_t MoveCrc32c(uint32_t p, int64_t bytes) {
  const Crc32cSquares& squares =
      bytes < 0 ? kCrc32cInverseSquares : kCrc32cSquares;
  const auto distance = static_cast<uint64_t>(bytes < 0 ? -bytes : bytes);
  uint64_t exponent = 8 * distance % kCrc32cOrder;
  for (int i = 0; exponent != 0; ++i, exponent /= 2) {
    if (exponent % 2 != 0) p = Crc32cProduct(p, squares.of[i]);
  }
  return p;
}

// Returns the CRC of earlier bytes and a piece of `bytes` bytes with this
// remainder. `crc`: the CRC of the earlier bytes; 0: there are none.
constexpr uint32_t ExtendCrc32cBy(uint32_t crc, uint32_t remainder,
                                  uint64_t bytes) {
  return ~(MoveCrc32c(~crc, static_cast<int64_t>(bytes)) ^ remainder);
}

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_CRC32C_LAW_H_
