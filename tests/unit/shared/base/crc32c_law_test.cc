// The law of CRC32C against the function of whole arrays.
#include "shared/base/crc32c_law.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "shared/base/crc32c.h"
#include "shared/base/philox.h"

namespace fgnn {
namespace {

static_assert(Crc32cProduct(kCrc32cOne, 0x1234'5678) == 0x1234'5678);
static_assert(Crc32cProduct(kCrc32cSquares.of[0],
                            kCrc32cInverseSquares.of[0]) == kCrc32cOne);

std::vector<uint8_t> BytesOf(size_t size, uint64_t seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<uint8_t>(Mix64(seed << 32 | i));
  }
  return bytes;
}

uint32_t CrcOf(const std::vector<uint8_t>& bytes) {
  return ExtendCrc32c(0, bytes.data(), bytes.size());
}

// Bit by bit, as the remainder is defined.
uint32_t RemainderOf(const std::vector<uint8_t>& bytes) {
  uint32_t remainder = 0;
  for (const uint8_t byte : bytes) {
    remainder ^= byte;
    for (int bit = 0; bit < 8; ++bit) remainder = Crc32cTimesX(remainder);
  }
  return remainder;
}

TEST(Crc32cLawTest, AWordMovedOverItsBytesIsItsRemainder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<uint8_t> bytes = BytesOf(4, seed);
    uint32_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    EXPECT_EQ(MoveCrc32c(word, 4), RemainderOf(bytes));
  }
}

TEST(Crc32cLawTest, PiecesHaveTheCrcOfTheWhole) {
  for (const size_t first : {0, 1, 3, 4, 511, 512, 4097, 100'000}) {
    for (const size_t second : {0, 1, 2, 31, 32, 33, 4096, 70'001}) {
      const std::vector<uint8_t> head = BytesOf(first, 1);
      const std::vector<uint8_t> tail = BytesOf(second, 2);
      EXPECT_EQ(ExtendCrc32cBy(CrcOf(head), RemainderOf(tail), second),
                ExtendCrc32c(CrcOf(head), tail.data(), second))
          << first << " and " << second;
    }
  }
}

TEST(Crc32cLawTest, MovingBackUndoesZerosBehindAPiece) {
  for (const size_t size : {0, 1, 4, 60, 4095, 4096, 9000}) {
    for (const size_t zeros : {0, 1, 4, 15, 4092}) {
      const std::vector<uint8_t> bytes = BytesOf(size, 3);
      std::vector<uint8_t> longer = bytes;
      longer.resize(size + zeros);
      EXPECT_EQ(MoveCrc32c(RemainderOf(longer), -static_cast<int64_t>(zeros)),
                RemainderOf(bytes))
          << size << " and " << zeros;
    }
  }
}

TEST(Crc32cLawTest, PiecesMayBeLongerThanTheOrderOfX) {
  // 2^28 bytes have 2^31 bits.
  const std::vector<uint8_t> head = BytesOf(100, 4);
  const std::vector<uint8_t> zeros(1 << 20);
  uint32_t whole = CrcOf(head);
  for (int i = 0; i < 300; ++i) {
    whole = ExtendCrc32c(whole, zeros.data(), zeros.size());
  }
  EXPECT_EQ(ExtendCrc32cBy(CrcOf(head), 0, 300 * zeros.size()), whole);
}

}  // namespace
}  // namespace fgnn
