// The elements of an array in Fortran order, in C order.
#ifndef FGNN_TOOLS_DATASET_READING_FORTRAN_SOURCE_H_
#define FGNN_TOOLS_DATASET_READING_FORTRAN_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/dataset/reading/array_stream.h"

namespace fgnn {

// Holds the whole array from the first read on: its rows lie apart.
class FortranSource : public ByteSource {
 public:
  // `source` gives the elements in Fortran order, each of `element_bytes`.
  FortranSource(std::unique_ptr<ByteSource> source, std::vector<uint64_t> shape,
                size_t element_bytes);

  // Both take whole elements. DataLoss: the source ends too early.
  absl::StatusOr<size_t> Read(absl::Span<std::byte> out) override;
  absl::Status Skip(uint64_t bytes) override;
  uint64_t size() const override { return num_elements_ * element_bytes_; }

 private:
  absl::Status ReadAll();
  // Returns the place in Fortran order of the element at `position` in C order.
  uint64_t PlaceOf(uint64_t position) const;

  std::unique_ptr<ByteSource> source_;
  std::vector<uint64_t> shape_;
  size_t element_bytes_;
  uint64_t num_elements_ = 1;
  uint64_t position_ = 0;  // Number of elements read or skipped.
  std::vector<std::byte> elements_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_FORTRAN_SOURCE_H_
