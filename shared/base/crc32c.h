// CRC32C (Castagnoli) of bytes. Uses the processor's instruction if there is
// one.
#ifndef FGNN_SHARED_BASE_CRC32C_H_
#define FGNN_SHARED_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace fgnn {

// Returns the CRC of earlier bytes and `size` bytes at `data`. `crc`: the CRC
// of the earlier bytes; 0: there are none.
uint32_t ExtendCrc32c(uint32_t crc, const void* data, size_t size);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_CRC32C_H_
