#include "shared/device/anonymous_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "shared/base/files/unique_fd.h"
#include "shared/device/memory.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

constexpr uint64_t kOneMiB = uint64_t{1} << 20;
// What the rest of the process may do meanwhile.
constexpr uint64_t kSlack = 8 * kOneMiB;

TEST(AnonymousMemoryTest, CountsWhatIsTouchedWhileItIsThere) {
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t before, AnonymousMemoryBytes());
  TableMemory<std::byte> table = AllocateTableBytes(64 * kOneMiB);
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t reserved, AnonymousMemoryBytes());
  EXPECT_LT(reserved, before + kSlack);
  std::fill_n(table.get(), 48 * kOneMiB, std::byte{1});
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t touched, AnonymousMemoryBytes());
  EXPECT_GE(touched, before + 48 * kOneMiB);
  table.reset();
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t freed, AnonymousMemoryBytes());
  EXPECT_LE(freed + 48 * kOneMiB, touched + kSlack);
}

TEST(AnonymousMemoryTest, DoesNotCountMappedFiles) {
  const TempFolder folder;
  const std::string path = (folder / "file").string();
  std::ofstream(path) << std::string(64 * kOneMiB, 'x');
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t before, AnonymousMemoryBytes());
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // Read by the kernel: sanitizers take memory of their own for our reads.
  void* const file = ::mmap(nullptr, 64 * kOneMiB, PROT_READ,
                            MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  ASSERT_NE(file, MAP_FAILED);
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t read, AnonymousMemoryBytes());
  ::munmap(file, 64 * kOneMiB);
  EXPECT_LT(read, before + kSlack);
}

}  // namespace
}  // namespace fgnn
