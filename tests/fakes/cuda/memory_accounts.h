// What several processes have of one device's memory.
#ifndef FGNN_TESTS_FAKES_CUDA_MEMORY_ACCOUNTS_H_
#define FGNN_TESTS_FAKES_CUDA_MEMORY_ACCOUNTS_H_

#include <cstddef>
#include <string>

namespace fgnn::simt {

// Writes into the file `path` that this process has `mine` bytes, unless all
// living processes would then have more than `limit`. Returns whether it did.
// The file: a number of accounts, then a pid and bytes of each, all of 64 bits.
// An account without a file (empty path) is this process's alone.
bool BookMemory(const std::string& path, size_t mine, size_t limit);

// Returns the bytes that all living processes have, with `mine` of this one.
size_t BookedMemory(const std::string& path, size_t mine);

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_FAKES_CUDA_MEMORY_ACCOUNTS_H_
