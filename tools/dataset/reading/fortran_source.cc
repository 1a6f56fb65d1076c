#include "tools/dataset/reading/fortran_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shared/base/status.h"

namespace fgnn {

FortranSource::FortranSource(std::unique_ptr<ByteSource> source,
                             std::vector<uint64_t> shape, size_t element_bytes)
    : source_(std::move(source)),
      shape_(std::move(shape)),
      element_bytes_(element_bytes) {
  for (const uint64_t dimension : shape_) num_elements_ *= dimension;
}

absl::Status FortranSource::ReadAll() {
  elements_.resize(num_elements_ * element_bytes_);
  FGNN_ASSIGN_OR_RETURN(const size_t got,
                        source_->Read(absl::MakeSpan(elements_)));
  if (got == elements_.size()) return absl::OkStatus();
  return absl::DataLossError("the array is truncated; write it again");
}

uint64_t FortranSource::PlaceOf(uint64_t position) const {
  uint64_t place = 0;
  uint64_t apart = num_elements_;  // Places between neighbours along `d`.
  for (size_t d = shape_.size(); d-- > 0;) {
    apart /= shape_[d];
    place += position % shape_[d] * apart;
    position /= shape_[d];
  }
  return place;
}

absl::StatusOr<size_t> FortranSource::Read(absl::Span<std::byte> out) {
  if (elements_.empty() && num_elements_ > 0) FGNN_RETURN_IF_ERROR(ReadAll());
  const uint64_t count = std::min<uint64_t>(out.size() / element_bytes_,
                                            num_elements_ - position_);
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(out.data() + i * element_bytes_,
                elements_.data() + PlaceOf(position_ + i) * element_bytes_,
                element_bytes_);
  }
  position_ += count;
  return count * element_bytes_;
}

absl::Status FortranSource::Skip(uint64_t bytes) {
  position_ += std::min(bytes / element_bytes_, num_elements_ - position_);
  return absl::OkStatus();
}

}  // namespace fgnn
