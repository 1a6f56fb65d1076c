#include "tests/gpu/facts/facts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace fgnn {

std::string TextOf(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + ": " +
         cudaGetErrorString(error);
}

cudaError_t Allocate(uint64_t bytes, DeviceBytes* out) {
  void* memory = nullptr;
  FGNN_CUDA_TRY(cudaMalloc(&memory, bytes));
  out->reset(memory);
  return cudaSuccess;
}

cudaError_t MakeStream(Stream* out) {
  cudaStream_t stream = nullptr;
  FGNN_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  out->reset(stream);
  return cudaSuccess;
}

SharedBytes::SharedBytes(uint64_t bytes) : bytes_(bytes) {
  fd_ = ::memfd_create("fgnn-gpu-facts", MFD_ALLOW_SEALING);
  if (fd_ < 0 || ::posix_fallocate(fd_, 0, static_cast<off_t>(bytes)) != 0) {
    return;
  }
  ::fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* const data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (data != MAP_FAILED) data_ = static_cast<char*>(data);
}

SharedBytes::SharedBytes(int fd, uint64_t bytes) : fd_(fd), bytes_(bytes) {
  void* const data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (data != MAP_FAILED) data_ = static_cast<char*>(data);
}

SharedBytes::~SharedBytes() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  if (fd_ >= 0) ::close(fd_);
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

cudaError_t BestSeconds(int rounds, cudaStream_t stream,
                        const std::function<cudaError_t()>& work,
                        double* seconds) {
  FGNN_CUDA_TRY(work());  // Not timed: pages, caches and clocks come first.
  FGNN_CUDA_TRY(cudaStreamSynchronize(stream));
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    FGNN_CUDA_TRY(work());
    FGNN_CUDA_TRY(cudaStreamSynchronize(stream));
    best = std::min(best, SecondsSince(start));
  }
  *seconds = best;
  return cudaSuccess;
}

}  // namespace fgnn
