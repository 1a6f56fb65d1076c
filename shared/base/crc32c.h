// CRC32C (Castagnoli) of bytes, with the processor's instruction where it has
// one.
#ifndef FGNN_SHARED_BASE_CRC32C_H_
#define FGNN_SHARED_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace fgnn {

// Extends `crc`, that of earlier bytes (0 for none), by `size` bytes at `data`.
uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t size);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_CRC32C_H_
