#include "tests/fakes/cuda/fake_cudart.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "tests/simt/launch.h"

extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void*, size_t);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void*, size_t);
}

using fgnn::simt::FakeCounts;
using fgnn::simt::FakeDevice;

// An event's k-th recording is reached when `reached` >= k.
struct CUevent_st {
  uint64_t recorded = 0;
  uint64_t reached = 0;
  std::chrono::steady_clock::time_point time;
};

struct Work {
  std::function<void()> run;
  CUevent_st* waits_for = nullptr;  // Then that is all that it does.
  uint64_t recording = 0;
};

struct CUstream_st {
  std::deque<Work> work;
};

namespace {

enum class Kind : uint8_t { kDevice, kPinned, kRegistered };
struct Memory {
  size_t bytes;
  Kind kind;
};

struct Runtime {
  FakeDevice device;
  std::recursive_mutex mutex;  // Held while work is done.
  std::mt19937_64 random{1};
  std::vector<CUstream_st*> streams;
  std::map<const char*, Memory> memory;
  FakeCounts counts;
  int depth = 0;  // Of Execute().
  uint64_t calls_left = UINT64_MAX;
  cudaError_t planned = cudaSuccess;
  bool planned_is_sticky = false;
  cudaError_t sticky = cudaSuccess;
  cudaError_t last = cudaSuccess;
};
Runtime& R() {
  static Runtime* const runtime = new Runtime;
  return *runtime;
}
using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t Set(cudaError_t error) {
  if (error != cudaSuccess) R().last = error;
  return error;
}

// Every call that can fail begins with it.
cudaError_t Begin() {
  if (R().device.count == 0) return Set(cudaErrorInsufficientDriver);
  if (R().sticky != cudaSuccess) return R().sticky;
  if (R().calls_left-- == 0) {
    if (R().planned_is_sticky) R().sticky = R().planned;
    return Set(R().planned);
  }
  return cudaSuccess;
}

[[noreturn]] void Die(const char* what, const void* where) {
  std::fprintf(stderr, "fake cudart: %s (%p)\n", what, where);
  std::abort();
}

const std::pair<const char* const, Memory>* Find(const void* address) {
  const char* const at = static_cast<const char*>(address);
  auto next = R().memory.upper_bound(at);
  if (next == R().memory.begin()) return nullptr;
  --next;
  return at < next->first + next->second.bytes ? &*next : nullptr;
}
bool IsDevice(const void* address) {
  const auto* const found = Find(address);
  return found != nullptr && found->second.kind == Kind::kDevice;
}

// Device memory can be read and written by kernels and copies alone.
void SetDeviceMemoryOpen(bool open) {
  if (__asan_poison_memory_region == nullptr) return;
  for (const auto& [begin, memory] : R().memory) {
    if (memory.kind != Kind::kDevice) continue;
    (open ? __asan_unpoison_memory_region : __asan_poison_memory_region)(
        begin, memory.bytes);
  }
}

void Execute(Work& work) {
  if (R().depth++ == 0) SetDeviceMemoryOpen(true);
  work.run();
  if (--R().depth == 0) SetDeviceMemoryOpen(false);
}

bool IsReady(const CUstream_st& stream) {
  if (stream.work.empty()) return false;
  const Work& first = stream.work.front();
  return first.waits_for == nullptr ||
         first.waits_for->reached >= first.recording;
}

// One piece of work of any stream; false: there is none that may run.
bool Step() {
  std::vector<CUstream_st*> ready;
  for (CUstream_st* const stream : R().streams) {
    if (IsReady(*stream)) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  CUstream_st& stream = *ready[R().random() % ready.size()];
  Work work = std::move(stream.work.front());
  stream.work.pop_front();
  if (work.run) Execute(work);
  return true;
}

template <typename Done>
cudaError_t WaitUntil(Done done) {
  ++R().counts.waits;
  while (!done()) {
    if (!Step()) Die("waits for an event that nobody records", nullptr);
  }
  return R().sticky;
}
bool AllDone() {
  for (const CUstream_st* stream : R().streams) {
    if (!stream->work.empty()) return false;
  }
  return true;
}

cudaError_t Add(cudaStream_t stream, Work work) {
  if (stream == nullptr) Die("work for the null stream", nullptr);
  stream->work.push_back(std::move(work));
  if (!R().device.lazy) {
    while (Step()) {
    }
  }
  return cudaSuccess;
}

// Bytes that processes of the accounts' file have, this one's set to `mine`.
size_t SharedBytes(size_t mine) {
  const std::string& path = R().device.shared_accounts;
  if (path.empty()) return mine;
  struct Account {
    pid_t pid;
    size_t bytes;
  };
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::flock(fd, LOCK_EX);
  std::vector<Account> alive;
  size_t sum = mine;
  for (Account a; ::read(fd, &a, sizeof(a)) == ssize_t{sizeof(a)};) {
    if (a.pid == ::getpid() || ::kill(a.pid, 0) != 0) continue;
    alive.push_back(a);
    sum += a.bytes;
  }
  alive.push_back({::getpid(), mine});
  const size_t size = alive.size() * sizeof(Account);
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, alive.data(), size, 0) != static_cast<ssize_t>(size)) {
    Die("cannot write the accounts", nullptr);
  }
  ::close(fd);
  return sum;
}

cudaError_t Allocate(void** out, size_t bytes, Kind kind) {
  if (const cudaError_t error = Begin()) return error;
  auto& now = R().counts.allocated_bytes;
  if (kind == Kind::kDevice &&
      SharedBytes(now + bytes) > R().device.memory_bytes) {
    SharedBytes(now);
    return Set(cudaErrorMemoryAllocation);
  }
  // The exact size, so that AddressSanitizer guards its end.
  if (::posix_memalign(out, 256, bytes) != 0) {
    return Set(cudaErrorMemoryAllocation);
  }
  std::memset(*out, 0xff, bytes);
  R().memory[static_cast<char*>(*out)] = {bytes, kind};
  ++R().counts.allocations;
  if (kind == Kind::kDevice) {
    now += bytes;
    if (__asan_poison_memory_region != nullptr) {
      __asan_poison_memory_region(*out, bytes);
    }
  }
  return cudaSuccess;
}

cudaError_t Free(void* pointer, Kind kind) {
  if (pointer == nullptr) return cudaSuccess;
  WaitUntil(AllDone);  // As cudaFree() does.
  const auto found = R().memory.find(static_cast<char*>(pointer));
  if (found == R().memory.end() || found->second.kind != kind) {
    Die("frees what it did not allocate", pointer);
  }
  if (__asan_unpoison_memory_region != nullptr) {
    __asan_unpoison_memory_region(pointer, found->second.bytes);
  }
  if (kind == Kind::kDevice) {
    R().counts.allocated_bytes -= found->second.bytes;
    SharedBytes(R().counts.allocated_bytes);
  }
  R().memory.erase(found);
  if (kind != Kind::kRegistered) std::free(pointer);
  return R().sticky;
}

}  // namespace

namespace fgnn::simt {

void SetFakeDevice(const FakeDevice& device) {
  Lock lock(R().mutex);
  R().device = device;
  R().random.seed(device.seed);
  R().counts = {};
  R().sticky = R().last = cudaSuccess;
  R().calls_left = UINT64_MAX;
}
void FailAfter(uint64_t calls, cudaError_t error, bool sticky) {
  Lock lock(R().mutex);
  R().calls_left = calls;
  R().planned = error;
  R().planned_is_sticky = sticky;
}
FakeCounts GetFakeCounts() {
  Lock lock(R().mutex);
  return R().counts;
}
cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  ++R().counts.launches;
  return Add(stream, {.run = std::move(work)});
}

}  // namespace fgnn::simt

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (const cudaError_t error = Begin()) return error;
  *count = R().device.count;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  return device < R().device.count ? cudaSuccess : Set(cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  if (device >= R().device.count) return Set(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "emulated");
  properties->totalGlobalMem = R().device.memory_bytes;
  properties->multiProcessorCount = R().device.multiprocessors;
  properties->major = 9;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->sharedMemPerBlock = 48 * 1024;
  properties->sharedMemPerBlockOptin = 227 * 1024;
  properties->unifiedAddressing = 1;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                   int device) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  if (device >= R().device.count) return Set(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = R().device.multiprocessors;
      return cudaSuccess;
    default:
      return Set(cudaErrorInvalidValue);
  }
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  *total = R().device.memory_bytes;
  *free = *total - SharedBytes(R().counts.allocated_bytes);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  return WaitUntil(AllDone);
}
cudaError_t cudaGetLastError() {
  Lock lock(R().mutex);
  return R().sticky != cudaSuccess ? R().sticky
                                   : std::exchange(R().last, cudaSuccess);
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
                                            : "cudaError (emulated)";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "emulated";
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
  Lock lock(R().mutex);
  return Allocate(out, bytes, Kind::kDevice);
}
cudaError_t cudaFree(void* pointer) {
  Lock lock(R().mutex);
  return Free(pointer, Kind::kDevice);
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  Lock lock(R().mutex);
  return Allocate(out, bytes, Kind::kPinned);
}
cudaError_t cudaMallocHost(void** out, size_t bytes) {
  return cudaHostAlloc(out, bytes, 0);
}
cudaError_t cudaFreeHost(void* pointer) {
  Lock lock(R().mutex);
  return Free(pointer, Kind::kPinned);
}
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  if (Find(pointer) != nullptr) {
    return Set(cudaErrorHostMemoryAlreadyRegistered);
  }
  R().memory[static_cast<char*>(pointer)] = {bytes, Kind::kRegistered};
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) {
  Lock lock(R().mutex);
  return Free(pointer, Kind::kRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** out, void* host, unsigned) {
  Lock lock(R().mutex);
  if (Find(host) == nullptr) return Set(cudaErrorInvalidValue);
  *out = host;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  *out = new CUstream_st;
  R().streams.push_back(*out);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Lock lock(R().mutex);
  WaitUntil([=] { return stream->work.empty(); });
  std::erase(R().streams, stream);
  delete stream;
  return R().sticky;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  return WaitUntil([=] { return stream->work.empty(); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  *out = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Lock lock(R().mutex);
  WaitUntil([=] { return event->reached == event->recorded; });
  delete event;
  return R().sticky;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  const uint64_t recording = ++event->recorded;
  return Add(stream, {.run = [=] {
               event->reached = recording;
               event->time = std::chrono::steady_clock::now();
             }});
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  Step();  // So that a loop around it ends.
  return event->reached == event->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  return WaitUntil([=] { return event->reached == event->recorded; });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  return Add(
      stream,
      {.run = nullptr, .waits_for = event, .recording = event->recorded});
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call,
                               void* data) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  return Add(stream, {.run = [=] { call(data); }});
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  if (bytes == 0) return cudaSuccess;
  const bool to_device =
      kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device =
      kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault &&
      (IsDevice(to) != to_device || IsDevice(from) != from_device)) {
    return Set(cudaErrorInvalidValue);
  }
  R().counts.copied_bytes += bytes;
  // Pageable memory is staged: it may change as soon as the call is back.
  if (Find(from) == nullptr) {
    const auto staged = std::make_shared<std::vector<char>>(
        static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    return Add(stream,
               {.run = [=] { std::memcpy(to, staged->data(), bytes); }});
  }
  return Add(stream, {.run = [=] { std::memcpy(to, from, bytes); }});
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes,
                            cudaStream_t stream) {
  Lock lock(R().mutex);
  if (const cudaError_t error = Begin()) return error;
  return Add(stream, {.run = [=] { std::memset(to, value, bytes); }});
}

}  // extern "C"
