#include "trainer_service/compute/aligned_buffer.h"

#include <cstdlib>
#include <new>

namespace fgnn {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

void* AlignedBuffer::Reserve(size_t bytes) {
  if (bytes <= capacity_bytes_ && data_ != nullptr) return data_;
  // Reserves a tenth more: the next batch is a little larger or smaller than
  // this one.
  size_t wanted = bytes + bytes / 10;
  wanted = (wanted + kAlignment) / kAlignment * kAlignment;
  std::free(data_);
  capacity_bytes_ = 0;
  data_ = std::aligned_alloc(kAlignment, wanted);
  if (data_ == nullptr) throw std::bad_alloc();
  capacity_bytes_ = wanted;
  return data_;
}

}  // namespace fgnn
