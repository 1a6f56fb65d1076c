// Rows of features in a type of a store, with gaps between them, and the same
// rows as f32.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_STORED_FEATURES_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_STORED_FEATURES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "shared/graph/dataset.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Owns the data that rows() borrows. It must not be moved.
class StoredFeatures {
 public:
  // Makes random, finite features. Rows lie in no order, with gaps between
  // them, so that they begin anywhere in a cache line.
  StoredFeatures(FeatureType type, size_t rows, size_t columns, uint64_t seed)
      : type_(type), floats_(rows * columns) {
    std::mt19937_64 random(seed);
    const size_t row_bytes = columns * BytesOf(type);
    const size_t stride = row_bytes + BytesOf(type);
    bytes_.resize(rows * stride);
    for (std::byte& byte : bytes_) byte = std::byte(random() & 0xff);
    for (size_t r = 0; r < rows; ++r) {
      std::byte* const row = bytes_.data() + (r * 7919 % rows) * stride;
      for (size_t c = 0; c < columns; ++c) Put(random, row, c);
      WidenToFloats(type, row, columns, floats_.data() + r * columns);
      places_.push_back(row);
    }
  }
  StoredFeatures(const StoredFeatures&) = delete;
  StoredFeatures& operator=(const StoredFeatures&) = delete;

  StoredRows rows() const { return {places_, type_}; }
  const std::vector<float>& floats() const { return floats_; }

 private:
  // Writes a random value of a size of about one.
  void Put(std::mt19937_64& random, std::byte* row, size_t column) const {
    const float value = std::normal_distribution<float>()(random) + 0x1.0p-20F;
    const auto bits = std::bit_cast<uint32_t>(value);
    if (type_ == FeatureType::kFloat32) {
      std::memcpy(row + 4 * column, &bits, 4);
      return;
    }
    // The number 1 has the exponent 15 in half precision.
    const auto half = type_ == FeatureType::kBfloat16
                          ? static_cast<uint16_t>(bits >> 16)
                          : static_cast<uint16_t>((bits >> 16 & 0x8000) |
                                                  0x3800 | (random() & 0x7ff));
    std::memcpy(row + 2 * column, &half, 2);
  }

  FeatureType type_;
  std::vector<std::byte> bytes_;
  std::vector<float> floats_;
  std::vector<const std::byte*> places_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_STORED_FEATURES_H_
