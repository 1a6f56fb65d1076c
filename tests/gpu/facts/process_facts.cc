// Several processes on one device, and one that dies.
#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "tests/gpu/facts/child.h"
#include "tests/gpu/facts/facts.h"

namespace fgnn {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPages = kQueuedBytes / kPage;

std::optional<uint64_t> AskOnce(Child* child, uint64_t message) {
  child->Ask(message);
  return child->Answer();
}

double Megabytes(size_t before, size_t after) {
  return (static_cast<double>(before) - static_cast<double>(after)) / 1e6;
}

// What a killed process copied, in bytes of the front of the memory.
struct Progress {
  uint64_t at_kill = 0;
  uint64_t at_word = 0;  // When the kernel says that the process is gone.
  uint64_t at_last = 0;  // Much later.
  double word_ms = 0;    // From the kill to the kernel's word.
  bool in_order = true;  // All stamps are in front of all other bytes.
};

bool IsStamped(const char* data, uint64_t page) {
  return *static_cast<const volatile char*>(data + page * kPage) == kStamp;
}

// Returns where the stamps end, after 17 looks: some microseconds. The copies
// write in order.
uint64_t Front(const char* data) {
  uint64_t stamped = 0, other = kPages;  // The front is in [stamped, other].
  while (stamped < other) {
    const uint64_t middle = stamped + (other - stamped) / 2;
    if (IsStamped(data, middle)) {
      stamped = middle + 1;
    } else {
      other = middle;
    }
  }
  return stamped * kPage;
}

// Returns nothing if the child ends by itself.
std::optional<Progress> KillInMidCopy(const SharedBytes& shared,
                                      std::chrono::microseconds delay) {
  std::memset(shared.data(), 0, shared.bytes());
  Child child(Role::kCopy, shared.fd());
  if (!child.Answer()) return std::nullopt;
  std::this_thread::sleep_for(delay);
  Progress progress;
  progress.at_kill = Front(shared.data());
  const auto killed = std::chrono::steady_clock::now();
  child.KillAndSee();
  progress.at_word = Front(shared.data());
  progress.word_ms = SecondsSince(killed) * 1e3;
  // Longer than all copies together take.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  progress.at_last = Front(shared.data());
  uint64_t stamps = 0;
  for (uint64_t page = 0; page < kPages; ++page) {
    stamps += IsStamped(shared.data(), page) ? 1 : 0;
  }
  progress.in_order = stamps * kPage == progress.at_last;
  return progress;
}

// Sums over the kills that came while copies were queued.
struct Kills {
  int in_queue = 0;
  int in_mid_copy = 0;
  int out_of_order = 0;
  double mb_at_kill = 0;
  double mb_behind_kill = 0;
  double word_ms = 0;

  void Add(const std::string& name, const Progress& progress, Report* report) {
    const double late_mb = Megabytes(progress.at_last, progress.at_word);
    if (progress.at_kill >= kQueuedBytes) {
      std::printf("-- %s came when all copies had ended\n", name.c_str());
      return;
    }
    report->Check(name, late_mb == 0,
                  Report::Number(late_mb) +
                      " MB copied behind the kernel's word; limit 0");
    ++in_queue;
    out_of_order += progress.in_order ? 0 : 1;
    in_mid_copy += progress.at_last % kCopyBytes != 0 ? 1 : 0;
    mb_at_kill += static_cast<double>(progress.at_kill) / 1e6;
    mb_behind_kill += Megabytes(progress.at_word, progress.at_kill);
    word_ms += progress.word_ms;
  }
  void Print(Report* report) const {
    if (in_queue == 0) return;
    const double count = in_queue;
    const std::string of_count = " of " + std::to_string(in_queue);
    report->Figure("of the queue, copied at the kill", mb_at_kill / count, "MB",
                   "of " + Report::Number(kQueuedBytes / 1e6) + ", mean");
    report->Figure("copied between the kill and the kernel's word",
                   mb_behind_kill / count, "MB", "mean; one H100: 194");
    report->Fact("queues that ended inside a copy",
                 std::to_string(in_mid_copy) + of_count, "one H100: 14 of 25");
    report->Fact("queues that were not copied in order",
                 std::to_string(out_of_order) + of_count, "0 is expected");
    report->Figure("from the kill to the kernel's word", word_ms / count, "ms",
                   "mean; one H100: 78");
  }
};

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
                 "MB", "with what the driver has for itself; one H100: 555");
  for (const double megabytes : {Megabytes(one, two), Megabytes(two, three)}) {
    report->Figure("context of one more process", megabytes, "MB",
                   "one H100: 549");
  }
  second.KillAndSee();
  const auto killed = std::chrono::steady_clock::now();
  size_t now = three;
  while (now < two && SecondsSince(killed) < 5) {
    FGNN_CUDA_TRY(cudaMemGetInfo(&now, &total));
  }
  report->Figure("its memory back, after the kernel's word of its end",
                 SecondsSince(killed) * 1e3, "ms",
                 now < two ? "not all of it; limit 5000" : "limit 5000");
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
  report->Figure("a kernel on the whole device, alone", 1e3 / one, "ms",
                 "what two processes take turns with");
  report->Figure("two processes at once, of one's work",
                 static_cast<double>(*with_right + *with_left) / one, "",
                 "1: they take turns at no cost; one H100: 0.90");
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
                 "us",
                 "most " + std::to_string(*most_alone) + "; one H100: 8, 95");
  report->Figure("launch and wait, beside a busy process",
                 static_cast<double>(*median), "us",
                 "most " + std::to_string(*most) + "; one H100: 1167, 2410");
  return cudaSuccess;
}

cudaError_t KillFacts(KillRange kills, Report* report) {
  const SharedBytes shared(kQueuedBytes);
  if (shared.data() == nullptr) return cudaErrorMemoryAllocation;
  Kills found;
  for (int i = kills.first; i < kills.first + kills.count; ++i) {
    const std::string name = "kill " + std::to_string(i) + " in mid-copy";
    std::mt19937 random(static_cast<uint32_t>(i));
    // All copies take about 10 ms.
    const std::optional<Progress> progress =
        KillInMidCopy(shared, std::chrono::microseconds(random() % 9000));
    if (!progress) {
      report->Fail(name, "the process ended by itself");
      return cudaSuccess;
    }
    found.Add(name, *progress, report);
  }
  found.Print(report);
  return cudaSuccess;
}

}  // namespace fgnn
