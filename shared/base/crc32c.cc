#include "shared/base/crc32c.h"

#include <isa-l/crc.h>

namespace fgnn {

uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t size) {
  constexpr size_t kChunk = size_t{1} << 30;  // The library counts in int.
  const auto* bytes = static_cast<const unsigned char*>(data);
  crc = ~crc;
  while (size > 0) {
    const size_t chunk = size < kChunk ? size : kChunk;
    crc = crc32_iscsi(const_cast<unsigned char*>(bytes),
                      static_cast<int>(chunk), crc);
    bytes += chunk;
    size -= chunk;
  }
  return ~crc;
}

}  // namespace fgnn
