#include "shared/device/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A machine of files: proc/ and sys/ in a folder of its own.
class AvailableMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/memory_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    Write("proc/meminfo",
          "MemTotal: 99999 kB\nMemFree: 1 kB\nMemAvailable:    1024000 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& contents) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << contents;
  }
  uint64_t AvailableMiB() {
    const absl::StatusOr<uint64_t> bytes = AvailableMemoryBytes(root_);
    EXPECT_THAT(bytes, IsOk());
    return bytes.value_or(0) / kMiB;
  }

  fs::path root_;
};

TEST_F(AvailableMemoryTest, WithoutCgroupsItIsTheMachines) {
  EXPECT_EQ(AvailableMiB(), 1000U);
  Write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(AvailableMiB(), 1000U);
}

TEST_F(AvailableMemoryTest, Version2CountsEveryAncestorAndSparesPageCache) {
  Write("proc/self/cgroup", "0::/service/job\n");
  const std::string parent = "sys/fs/cgroup/service/";
  Write(parent + "memory.max", std::to_string(500 * kMiB) + "\n");
  Write(parent + "memory.current", std::to_string(300 * kMiB) + "\n");
  Write(parent + "job/memory.max", "max\n");
  Write(parent + "job/memory.current", std::to_string(10 * kMiB) + "\n");
  EXPECT_EQ(AvailableMiB(), 200U);
  Write(parent + "memory.stat",
        "anon 7\ninactive_file " + std::to_string(80 * kMiB) +
            "\nactive_file " + std::to_string(20 * kMiB) + "\n");
  EXPECT_EQ(AvailableMiB(), 300U);
  Write(parent + "job/memory.max", std::to_string(40 * kMiB) + "\n");
  EXPECT_EQ(AvailableMiB(), 30U);
}

TEST_F(AvailableMemoryTest, Version1AsWell) {
  Write("proc/self/cgroup", "5:cpu:/a\n4:hugetlb,memory:/a/b\n0::/\n");
  const std::string group = "sys/fs/cgroup/memory/a/b/";
  Write(group + "memory.limit_in_bytes", std::to_string(100 * kMiB) + "\n");
  Write(group + "memory.usage_in_bytes", std::to_string(60 * kMiB) + "\n");
  Write(group + "memory.stat", "inactive_file 5\ntotal_inactive_file " +
                                   std::to_string(10 * kMiB) + "\n");
  EXPECT_EQ(AvailableMiB(), 50U);
}

// In a container the path is often the host's, while the mount shows the
// container's own group at its top.
TEST_F(AvailableMemoryTest, TheMountItselfIsAskedWhereThePathIsTheHosts) {
  Write("proc/self/cgroup", "4:memory:/docker/0123\n0::/../other\n");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes",
        std::to_string(70 * kMiB));
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes",
        std::to_string(30 * kMiB));
  EXPECT_EQ(AvailableMiB(), 40U);
}

TEST_F(AvailableMemoryTest, MoreUsedThanAllowedLeavesNothing) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", "4096\n");
  Write("sys/fs/cgroup/memory.current", "8192\n");
  EXPECT_EQ(AvailableMiB(), 0U);
}

TEST_F(AvailableMemoryTest, WithoutMeminfoThereIsNoAnswer) {
  Write("proc/meminfo", "MemFree: 1 kB\n");
  EXPECT_THAT(AvailableMemoryBytes(root_), Unavailable());
  fs::remove(root_ / "proc/meminfo");
  EXPECT_FALSE(AvailableMemoryBytes(root_).ok());
}

TEST(MemoryTest, ThisMachineHasSome) {
  const absl::StatusOr<uint64_t> bytes = AvailableMemoryBytes();
  ASSERT_THAT(bytes, IsOk());
  EXPECT_GT(*bytes, kMiB);
}

TEST(AllocateTableTest, GivesZerosThatMayBeWrittenOnBothSidesOfTheLimit) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, kHugeTableBytes - 4,
                               kHugeTableBytes, kHugeTableBytes + 4}) {
    const uint64_t count = bytes / sizeof(uint32_t);
    const TableMemory<uint32_t> table = AllocateTable<uint32_t>(count);
    ASSERT_NE(table, nullptr) << bytes;
    for (uint64_t i = 0; i < count; i += 97) {
      ASSERT_EQ(table[i], 0U) << bytes;
      table[i] = 1;
    }
    if (count > 0) table[count - 1] = 1;
  }
}

TEST(AllocateTableTest, IsNullWhereThereIsNoMemory) {
  EXPECT_EQ(AllocateTable<uint64_t>(UINT64_MAX / 8), nullptr);
  EXPECT_EQ(AllocateTable<uint64_t>(UINT64_MAX), nullptr);
}

// The flags of the mapping that begins at `address`, from /proc/self/smaps.
std::string FlagsOf(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  std::ostringstream begin;
  begin << std::hex << reinterpret_cast<uintptr_t>(address) << "-";
  bool found = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.rfind(begin.str(), 0) == 0) found = true;
    if (found && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "";
}

TEST(AdviseRandomReadsTest, MarksThePagesThatTheBytesLieIn) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  auto* const pages = static_cast<std::byte*>(
      ::mmap(nullptr, 4 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  FGNN_ASSERT_OK(AdviseRandomReads({pages + page + 8, page}));
  EXPECT_THAT(FlagsOf(pages), testing::Not(testing::HasSubstr(" rr ")));
  EXPECT_THAT(FlagsOf(pages + page), testing::HasSubstr(" rr "));
  EXPECT_THAT(FlagsOf(pages + 3 * page),
              testing::Not(testing::HasSubstr(" rr ")));
  FGNN_ASSERT_OK(AdviseRandomReads({}));
  ASSERT_EQ(::munmap(pages, 4 * page), 0);
  EXPECT_FALSE(AdviseRandomReads({pages, page}).ok());
}

}  // namespace
}  // namespace fgnn
