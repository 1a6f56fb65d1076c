// The groups of facts that fgnn_gpu_facts measures, and what they share. The
// program needs no other library than CUDA's static runtime.
#ifndef FGNN_TESTS_GPU_FACTS_FACTS_H_
#define FGNN_TESTS_GPU_FACTS_FACTS_H_

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tests/gpu/report.h"

namespace fgnn {

// Returns from the enclosing function, which returns cudaError_t.
#define FGNN_CUDA_TRY(expr)                                                   \
  do {                                                                        \
    if (const cudaError_t fgnn_error_ = (expr); fgnn_error_ != cudaSuccess) { \
      return fgnn_error_;                                                     \
    }                                                                         \
  } while (false)

// The facts. Each group prints what it can; an error ends the group.
cudaError_t DeviceFacts(Report* report);
cudaError_t RegistrationFacts(Report* report);
cudaError_t CopyFacts(Report* report);
cudaError_t RandomReadFacts(Report* report);
cudaError_t LaunchFacts(Report* report);
// These start processes of this program.
cudaError_t ContextFacts(Report* report);
cudaError_t TimeSliceFacts(Report* report);
// A kill comes after a delay that depends on its number alone, so that parts of
// many kills differ.
struct KillRange {
  int first;
  int count;
};
cudaError_t KillFacts(KillRange kills, Report* report);

std::string TextOf(cudaError_t error);

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
using DeviceBytes = std::unique_ptr<void, FreeDevice>;
cudaError_t Allocate(uint64_t bytes, DeviceBytes* out);

struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using Stream = std::unique_ptr<CUstream_st, DestroyStream>;
cudaError_t MakeStream(Stream* out);

// Bytes of a memfd, shared and writable, sealed as a job's segment is.
class SharedBytes {
 public:
  explicit SharedBytes(uint64_t bytes);
  // Of a descriptor that another process made.
  SharedBytes(int fd, uint64_t bytes);
  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;
  // nullptr: there is no such memory.
  char* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
  uint64_t bytes_ = 0;
  char* data_ = nullptr;
};

double SecondsSince(std::chrono::steady_clock::time_point start);

// Sets the seconds of the fastest of `rounds` runs of `work` on a stream, each
// waited for.
cudaError_t BestSeconds(int rounds, cudaStream_t stream,
                        const std::function<cudaError_t()>& work,
                        double* seconds);

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_FACTS_FACTS_H_
