// fgnn_gpu_kills [--kills N] [--first K]: kills N processes, each while its
// copies into shared memory are queued on device 0. Checks that nothing is
// copied after the kernel has said that the process is gone. A kill comes after
// a delay that depends on its number alone, from K on, so parts of many kills
// differ.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/report.h"

namespace fgnn {
namespace {

constexpr int kPatienceMs = 30000;
// Copies of a part of the shared memory each, in order. They write kStamp into
// every byte.
constexpr uint64_t kQueuedCopies = 8;
constexpr uint64_t kCopyBytes = uint64_t{64} << 20;
constexpr uint64_t kQueuedBytes = kQueuedCopies * kCopyBytes;
constexpr char kStamp = 0x5a;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kPages = kQueuedBytes / kPage;

// Returns kQueuedBytes of a memfd; nullptr: there is no such memory.
char* MapShared(int fd) {
  void* const data =
      ::mmap(nullptr, kQueuedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return data == MAP_FAILED ? nullptr : static_cast<char*>(data);
}

// The child: queues the copies, writes a byte to the pipe, waits to be killed.
int QueueCopies(int shared_fd, int pipe_fd) {
  char* const shared = MapShared(shared_fd);
  if (shared == nullptr) return 1;
  const OnGpu<char> device(kCopyBytes);
  cudaStream_t stream = nullptr;
  Must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  Must(cudaHostRegister(shared, kQueuedBytes, cudaHostRegisterPortable),
       "register");
  Must(cudaMemsetAsync(device.get(), kStamp, kCopyBytes, stream), "stamp");
  Must(cudaStreamSynchronize(stream), "wait for the stamps");
  for (uint64_t i = 0; i < kQueuedCopies; ++i) {
    Must(cudaMemcpyAsync(shared + i * kCopyBytes, device.get(), kCopyBytes,
                         cudaMemcpyDeviceToHost, stream),
         "copy");
  }
  if (::write(pipe_fd, "", 1) != 1) return 1;
  for (;;) ::pause();
}

bool IsReadable(int fd) {
  pollfd waits = {fd, POLLIN, 0};
  return ::poll(&waits, 1, kPatienceMs) == 1;
}

// A process of this program that runs QueueCopies(). Killed and reaped with its
// object.
class Child {
 public:
  explicit Child(int shared_fd) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    const std::string words[] = {std::to_string(shared_fd),
                                 std::to_string(ends[1])};
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execl("/proc/self/exe", "fgnn_gpu_kills", "--child", words[0].c_str(),
              words[1].c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  }
  ~Child() {
    KillAndSee();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    if (pidfd_ >= 0) ::close(pidfd_);
    if (pipe_ >= 0) ::close(pipe_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns false if it has ended, or queues nothing for half a minute.
  bool HasQueued() const {
    char byte;
    return IsReadable(pipe_) && ::read(pipe_, &byte, 1) == 1;
  }

  // Ends it with SIGKILL. Returns once the kernel says that it is gone.
  void KillAndSee() const {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    IsReadable(pidfd_);
  }

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int pipe_ = -1;
};

// What a killed process copied, in bytes of the front of the memory.
struct Progress {
  uint64_t at_kill = 0;
  uint64_t at_word = 0;  // When the kernel says that the process is gone.
  uint64_t at_last = 0;  // Much later.
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
std::optional<Progress> KillInMidCopy(int shared_fd, char* shared,
                                      std::chrono::microseconds delay) {
  std::memset(shared, 0, kQueuedBytes);
  const Child child(shared_fd);
  if (!child.HasQueued()) return std::nullopt;
  std::this_thread::sleep_for(delay);
  Progress progress;
  progress.at_kill = Front(shared);
  child.KillAndSee();
  progress.at_word = Front(shared);
  // Longer than all copies together take.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  progress.at_last = Front(shared);
  uint64_t stamps = 0;
  for (uint64_t page = 0; page < kPages; ++page) {
    stamps += IsStamped(shared, page) ? 1 : 0;
  }
  progress.in_order = stamps * kPage == progress.at_last;
  return progress;
}

void Judge(const std::string& name, const Progress& progress, Report* report) {
  if (progress.at_kill >= kQueuedBytes) {
    std::printf("-- %s came when all copies had ended\n", name.c_str());
    return;
  }
  const double late_mb =
      static_cast<double>(progress.at_last - progress.at_word) / 1e6;
  report->Check(name, late_mb == 0 && progress.in_order,
                Report::Number(late_mb) +
                    " MB copied behind the kernel's word; limit 0" +
                    (progress.in_order ? "" : "; not copied in order"));
}

int Run(int first, int count) {
  if (!HasGpu()) return kNoGpu;
  const int shared_fd = ::memfd_create("fgnn-gpu-kills", MFD_ALLOW_SEALING);
  if (shared_fd < 0 ||
      ::posix_fallocate(shared_fd, 0, static_cast<off_t>(kQueuedBytes)) != 0) {
    Must(cudaErrorMemoryAllocation, "shared memory");
  }
  // As a job's segment is.
  ::fcntl(shared_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  char* const shared = MapShared(shared_fd);
  if (shared == nullptr) Must(cudaErrorMemoryAllocation, "shared memory");
  Report report;
  for (int i = first; i < first + count; ++i) {
    const std::string name = "kill " + std::to_string(i) + " in mid-copy";
    std::mt19937 random(static_cast<uint32_t>(i));
    // All copies take about 10 ms.
    const std::optional<Progress> progress = KillInMidCopy(
        shared_fd, shared, std::chrono::microseconds(random() % 9000));
    if (!progress) {
      report.Fail(name, "the process ended by itself");
      break;
    }
    Judge(name, *progress, &report);
  }
  return report.Finish();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--child") == 0) {
    return fgnn::QueueCopies(std::atoi(argv[2]), std::atoi(argv[3]));
  }
  int first = 0, count = 25;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--kills") == 0) count = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--first") == 0) first = std::atoi(argv[i + 1]);
  }
  return fgnn::Run(first, count);
}
