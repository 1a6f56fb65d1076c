// Several processes on one device, and one that dies.
#include <cstring>
#include <random>
#include <thread>

#include "tests/gpu/facts/child.h"
#include "tests/gpu/facts/facts.h"

namespace fgnn {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLine = 64;
constexpr char kMark = static_cast<char>(0xa5);  // No copy writes it.

std::optional<uint64_t> AskOnce(Child* child, uint64_t message) {
  child->Ask(message);
  return child->Answer();
}

double Megabytes(size_t before, size_t after) {
  return (static_cast<double>(before) - static_cast<double>(after)) / 1e6;
}

struct AfterKill {
  bool in_mid_copy = false;
  uint64_t late_pages = 0;  // Pages that changed after the process was gone.
};

// Marks a line of every page at once, from the end, so that a copy that goes on
// meets the marks. Then waits longer than any copy takes.
AfterKill LookAtMemory(char* data) {
  for (uint64_t page = kCopiedBytes / kPage; page-- > 0;) {
    std::memset(data + page * kPage, kMark, kLine);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  AfterKill found;
  for (uint64_t page = 0; page < kCopiedBytes / kPage; ++page) {
    const char* const at = data + page * kPage;
    if (at[0] != kMark) ++found.late_pages;
    if (at[kLine] != data[kLine]) found.in_mid_copy = true;
  }
  return found;
}

}  // namespace

cudaError_t ContextFacts(Report* report) {
  FGNN_CUDA_TRY(cudaFree(nullptr));  // Makes this process's own context.
  size_t total = 0, one = 0, two = 0, three = 0;
  FGNN_CUDA_TRY(cudaMemGetInfo(&one, &total));
  Child first(Role::kContext);
  const bool first_is_there = AskOnce(&first, 0).has_value();
  FGNN_CUDA_TRY(cudaMemGetInfo(&two, &total));
  Child second(Role::kContext);
  const bool second_is_there = AskOnce(&second, 0).has_value();
  FGNN_CUDA_TRY(cudaMemGetInfo(&three, &total));
  if (!first_is_there || !second_is_there) {
    report->Fail("context", "a process ended");
    return cudaSuccess;
  }
  report->Figure("device memory in use with one context", Megabytes(total, one),
                 "MB", "with what the driver has for itself");
  report->Figure("context of a second process", Megabytes(one, two), "MB");
  report->Figure("context of a third process", Megabytes(two, three), "MB");
  second.KillAndSee();
  const auto killed = std::chrono::steady_clock::now();
  size_t now = three;
  while (now < two && SecondsSince(killed) < 5) {
    FGNN_CUDA_TRY(cudaMemGetInfo(&now, &total));
  }
  report->Figure("its memory back, after the kernel's word of its end",
                 SecondsSince(killed) * 1e3, "ms",
                 now < two ? "not all of it" : "");
  return cudaSuccess;
}

cudaError_t TimeSliceFacts(Report* report) {
  Child left(Role::kBurn), right(Role::kBurn);
  const std::optional<uint64_t> alone = AskOnce(&left, 0);
  const std::optional<uint64_t> warm = AskOnce(&right, 0);
  left.Ask(0);
  right.Ask(0);
  const std::optional<uint64_t> with_right = left.Answer();
  const std::optional<uint64_t> with_left = right.Answer();
  if (!alone || !warm || !with_right || !with_left || *alone == 0) {
    report->Fail("time slices", "a process ended");
    return cudaSuccess;
  }
  const double one = static_cast<double>(*alone);
  report->Figure("a kernel on the whole device, alone", 1e3 / one, "ms");
  report->Figure("two processes at once, of one's work",
                 static_cast<double>(*with_right + *with_left) / one, "",
                 "1: they take turns at no cost");
  const std::optional<uint64_t> median_alone = AskOnce(&left, 1);
  const std::optional<uint64_t> most_alone = left.Answer();
  right.Ask(0);
  const std::optional<uint64_t> median = AskOnce(&left, 1);
  const std::optional<uint64_t> most = left.Answer();
  if (!median_alone || !most_alone || !median || !most) {
    report->Fail("waits beside a busy process", "a process ended");
    return cudaSuccess;
  }
  report->Figure("launch and wait, alone", static_cast<double>(*median_alone),
                 "us", "most " + std::to_string(*most_alone));
  report->Figure("launch and wait, beside a busy process",
                 static_cast<double>(*median), "us",
                 "most " + std::to_string(*most));
  return cudaSuccess;
}

cudaError_t KillFacts(int kills, Report* report) {
  const SharedBytes shared(kCopiedBytes);
  if (shared.data() == nullptr) return cudaErrorMemoryAllocation;
  std::mt19937 random(1);
  int in_mid_copy = 0, late = 0;
  uint64_t most_pages = 0;
  for (int i = 0; i < kills; ++i) {
    Child child(Role::kCopy, shared.fd());
    if (!child.Answer()) {
      report->Fail("kill -9 in mid-copy", "the process ended by itself");
      return cudaSuccess;
    }
    // Some moment of some copy; one takes 2 ms or so.
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    child.KillAndSee();
    const AfterKill found = LookAtMemory(shared.data());
    in_mid_copy += found.in_mid_copy ? 1 : 0;
    late += found.late_pages > 0 ? 1 : 0;
    most_pages = std::max(most_pages, found.late_pages);
  }
  report->Figure("processes killed while they copied", kills, "",
                 std::to_string(in_mid_copy) + " in mid-copy");
  report->Figure("of them with writes after the kernel's word", late, "",
                 "most: " + std::to_string(most_pages) + " of " +
                     std::to_string(kCopiedBytes / kPage) + " pages");
  return cudaSuccess;
}

}  // namespace fgnn
