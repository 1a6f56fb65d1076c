#include "tools/bench/files/generated_features.h"

#include <sys/mman.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

constexpr uint64_t kBlockBytes = sizeof(PhiloxBlock);

}  // namespace

absl::StatusOr<GeneratedFeatures> GenerateFeatures(FeatureType type,
                                                   uint64_t rows,
                                                   uint64_t columns,
                                                   uint64_t seed) {
  GeneratedFeatures made;
  const uint64_t blocks = rows * columns * BytesOf(type) / kBlockBytes + 1;
  const uint64_t bytes = blocks * kBlockBytes;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", rows, " rows of ", columns, " columns, ",
                     FormatBytes(bytes), "; lower --rows or --columns"));
  }
  made.memory = {static_cast<std::byte*>(memory), FreeTable{bytes}};
  // This is only advice: the kernel may refuse it if it has no huge pages.
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  const PhiloxKey key = MakePhiloxKey(seed, 0, 0, 0, Purpose::kGenerateDataset);
  for (uint64_t block = 0; block < blocks; ++block) {
    const PhiloxBlock random =
        Philox4x32({static_cast<uint32_t>(block),
                    static_cast<uint32_t>(block >> 32), 0, 0},
                   key);
    std::memcpy(made.memory.get() + block * kBlockBytes, random.words,
                kBlockBytes);
  }
  made.view = {made.memory.get(), type, rows, columns};
  return made;
}

}  // namespace fgnn
