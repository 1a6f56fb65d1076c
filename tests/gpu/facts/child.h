// Processes of this program that use the device beside it.
#ifndef FGNN_TESTS_GPU_FACTS_CHILD_H_
#define FGNN_TESTS_GPU_FACTS_CHILD_H_

#include <cuda_runtime_api.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace fgnn {

// What a child does: RunChild() in child.cc has each one's answers.
enum class Role : int {
  // Answers each message with the device's free bytes.
  kContext,
  // 0: computes for a second, answers with the number of kernels. 1: answers
  // with the median, then the most microseconds of a wait.
  kBurn,
  // Queues kQueuedCopies into the shared memory, and answers then.
  kCopy,
};

// Killed and reaped with its object.
class Child {
 public:
  // `shared_fd`: a memfd that the child of kCopy writes, or -1.
  explicit Child(Role role, int shared_fd = -1);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Ask(uint64_t message);
  // Returns nothing if the child has ended or says nothing for half a minute.
  std::optional<uint64_t> Answer();

  // Ends it with SIGKILL. Returns once the kernel says that it is gone.
  void KillAndSee();

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
  int socket_ = -1;
};

// What kCopy queues: copies of a part of the shared memory each, in order. They
// write kStamp into every byte.
inline constexpr uint64_t kQueuedCopies = 8;
inline constexpr uint64_t kCopyBytes = uint64_t{64} << 20;
inline constexpr uint64_t kQueuedBytes = kQueuedCopies * kCopyBytes;
inline constexpr char kStamp = 0x5a;

// The child's main(). Returns its exit code.
int RunChild(Role role, int socket, int shared_fd);

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_FACTS_CHILD_H_
