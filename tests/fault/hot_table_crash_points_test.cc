// A trainer that is killed leaves the table as it is between two of its
// instructions. So one fills a chunk instruction by instruction. In every state
// of the memory on the way, readers see only whole rows. Once the scheduler has
// given back what the dead one had, another trainer fills the table to its
// exact end.
#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fault/child_process.h"
#include "tests/unit/shared/hot_table/hot_table_for_tests.h"

namespace fgnn {
namespace {

constexpr OwnerIndex kDead{1};
constexpr OwnerIndex kNext{2};
constexpr int kCannotTrace = 77;

using Memory = std::vector<std::byte>;

HotTableShape TinyTable() {
  HotTableShape shape = SmallTable();
  shape.rows = 5;
  shape.row_bytes = 4;
  shape.rows_per_chunk = 2;
  return shape;
}

Memory BytesOf(int fd, size_t bytes) {
  Memory memory(bytes);
  EXPECT_EQ(::pread(fd, memory.data(), bytes, 0), static_cast<ssize_t>(bytes));
  return memory;
}

std::unique_ptr<HotTable> Open(int fd, HotTablePart part) {
  return HotTable::Open(Duplicate(fd), kTableJob, part).value();
}

TEST(HotTableCrashPointsTest, EveryStateOfADeadTrainerIsFilledToTheEnd) {
  const UniqueFd fd = HotTable::Create(TinyTable()).value();
  const auto size = static_cast<size_t>(::lseek(fd.get(), 0, SEEK_END));
  const auto table = Open(fd.get(), HotTablePart::kAll);
  Child child = Child::Start([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
      ::_exit(kCannotTrace);
    }
    ::raise(SIGSTOP);
    FillFree(*table, kDead);
  });
  std::vector<Memory> states;
  int status = 0;
  while (::waitpid(child.pid(), &status, 0) == child.pid() &&
         WIFSTOPPED(status)) {
    Memory now = BytesOf(fd.get(), size);
    if (states.empty() || states.back() != now)
      states.push_back(std::move(now));
    if (::ptrace(PTRACE_SINGLESTEP, child.pid(), nullptr, nullptr) != 0) break;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotTrace) {
    GTEST_SKIP() << "processes may not be traced here";
  }
  ASSERT_TRUE(WIFEXITED(status));
  // Each chunk: taken, its rows, there, told.
  ASSERT_GT(states.size(), 3U * 4);
  for (size_t i = 0; i < states.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("state ", i));
    const UniqueFd copy = HotTable::Create(TinyTable()).value();
    ASSERT_EQ(::pwrite(copy.get(), states[i].data(), size, 0),
              static_cast<ssize_t>(size));
    const auto next = Open(copy.get(), HotTablePart::kAll);
    EXPECT_TRUE(IsSound(*next));
    FillFree(*next, kNext);
    EXPECT_TRUE(IsSound(*next));
    Open(copy.get(), HotTablePart::kWords)->ReclaimChunksOf(kDead);
    FillFree(*next, kNext);
    EXPECT_TRUE(next->is_full());
    EXPECT_TRUE(IsSound(*next));
  }
}

}  // namespace
}  // namespace fgnn
