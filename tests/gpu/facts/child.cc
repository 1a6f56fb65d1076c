#include "tests/gpu/facts/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/gpu/facts/facts.h"
#include "tests/gpu/facts/kernels.h"

namespace fgnn {
namespace {

constexpr int kPatienceMs = 30000;

bool Send(int socket, uint64_t value) {
  return ::send(socket, &value, sizeof(value), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof(value));
}

std::optional<uint64_t> Receive(int socket, int patience_ms) {
  pollfd waits = {socket, POLLIN, 0};
  if (::poll(&waits, 1, patience_ms) != 1) return std::nullopt;
  uint64_t value = 0;
  if (::recv(socket, &value, sizeof(value), MSG_WAITALL) !=
      static_cast<ssize_t>(sizeof(value))) {
    return std::nullopt;
  }
  return value;
}

cudaError_t AnswerFreeBytes(int socket) {
  Stream stream;
  FGNN_CUDA_TRY(MakeStream(&stream));
  while (Receive(socket, -1)) {
    FGNN_CUDA_TRY(LaunchNothing(stream.get()));
    FGNN_CUDA_TRY(cudaStreamSynchronize(stream.get()));
    size_t free = 0, total = 0;
    FGNN_CUDA_TRY(cudaMemGetInfo(&free, &total));
    Send(socket, free);
  }
  return cudaSuccess;
}

// Kernels of some milliseconds on the whole device, one after another.
cudaError_t Burn(int multiprocessors, cudaStream_t stream, uint64_t* kernels) {
  const auto start = std::chrono::steady_clock::now();
  for (*kernels = 0; SecondsSince(start) < 1; ++*kernels) {
    FGNN_CUDA_TRY(LaunchBurn(static_cast<uint32_t>(multiprocessors) * 8,
                             1 << 18, nullptr, stream));
    FGNN_CUDA_TRY(cudaStreamSynchronize(stream));
  }
  return cudaSuccess;
}

cudaError_t Waits(cudaStream_t stream, std::vector<double>* microseconds) {
  const auto begin = std::chrono::steady_clock::now();
  while (SecondsSince(begin) < 1) {
    const auto start = std::chrono::steady_clock::now();
    FGNN_CUDA_TRY(LaunchNothing(stream));
    FGNN_CUDA_TRY(cudaStreamSynchronize(stream));
    microseconds->push_back(SecondsSince(start) * 1e6);
  }
  std::sort(microseconds->begin(), microseconds->end());
  return cudaSuccess;
}

cudaError_t AnswerBurns(int socket) {
  Stream stream;
  FGNN_CUDA_TRY(MakeStream(&stream));
  int multiprocessors = 0;
  FGNN_CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors,
                                       cudaDevAttrMultiProcessorCount, 0));
  while (const std::optional<uint64_t> asked = Receive(socket, -1)) {
    if (*asked == 0) {
      uint64_t kernels = 0;
      FGNN_CUDA_TRY(Burn(multiprocessors, stream.get(), &kernels));
      Send(socket, kernels);
    } else {
      std::vector<double> waits;
      FGNN_CUDA_TRY(Waits(stream.get(), &waits));
      Send(socket, static_cast<uint64_t>(waits[waits.size() / 2]));
      Send(socket, static_cast<uint64_t>(waits.back()));
    }
  }
  return cudaSuccess;
}

cudaError_t QueueCopies(int socket, int shared_fd) {
  const SharedBytes shared(shared_fd, kQueuedBytes);
  Stream stream;
  DeviceBytes device;
  FGNN_CUDA_TRY(MakeStream(&stream));
  FGNN_CUDA_TRY(Allocate(kCopyBytes, &device));
  FGNN_CUDA_TRY(
      cudaHostRegister(shared.data(), kQueuedBytes, cudaHostRegisterPortable));
  FGNN_CUDA_TRY(
      cudaMemsetAsync(device.get(), kStamp, kCopyBytes, stream.get()));
  FGNN_CUDA_TRY(cudaStreamSynchronize(stream.get()));
  for (uint64_t i = 0; i < kQueuedCopies; ++i) {
    FGNN_CUDA_TRY(cudaMemcpyAsync(shared.data() + i * kCopyBytes, device.get(),
                                  kCopyBytes, cudaMemcpyDeviceToHost,
                                  stream.get()));
  }
  Send(socket, 0);
  Receive(socket, -1);  // Nothing comes: it waits to be killed.
  return cudaSuccess;
}

}  // namespace

Child::Child(Role role, int shared_fd) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  const std::string words[] = {std::to_string(static_cast<int>(role)),
                               std::to_string(ends[1]),
                               std::to_string(shared_fd)};
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    ::execl("/proc/self/exe", "fgnn_gpu_facts", "--child", words[0].c_str(),
            words[1].c_str(), words[2].c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  socket_ = ends[0];
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
}

Child::~Child() {
  KillAndSee();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  if (pidfd_ >= 0) ::close(pidfd_);
  if (socket_ >= 0) ::close(socket_);
}

void Child::Ask(uint64_t message) { Send(socket_, message); }

std::optional<uint64_t> Child::Answer() {
  return Receive(socket_, kPatienceMs);
}

void Child::KillAndSee() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  pollfd waits = {pidfd_, POLLIN, 0};
  ::poll(&waits, 1, kPatienceMs);
}

int RunChild(Role role, int socket, int shared_fd) {
  cudaError_t error = cudaSuccess;
  switch (role) {
    case Role::kContext:
      error = AnswerFreeBytes(socket);
      break;
    case Role::kBurn:
      error = AnswerBurns(socket);
      break;
    case Role::kCopy:
      error = QueueCopies(socket, shared_fd);
      break;
  }
  if (error == cudaSuccess) return 0;
  std::fprintf(stderr, "a process beside: %s\n", TextOf(error).c_str());
  return 1;
}

}  // namespace fgnn
