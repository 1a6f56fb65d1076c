#include "tests/fakes/cuda/fake_nccl.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "tests/fakes/cuda/fake_runtime.h"

namespace fgnn::simt {
namespace {

using nccl::Result;

constexpr int kMostMembers = 64;
constexpr size_t kHeadBytes = 4096;
// Of the array that a member sends. Only pages that are written take memory.
constexpr size_t kAreaBytes = size_t{16} << 20;
constexpr size_t kGroupBytes = kHeadBytes + kMostMembers * kAreaBytes;

// What the members of a group share. Calls of a group are numbered from 1.
struct Head {
  std::atomic<int> joined;
  std::atomic<uint64_t> sent[kMostMembers];  // The last call of each sender.
  std::atomic<uint64_t> done[kMostMembers];  // The last call of each member.
};
static_assert(sizeof(Head) <= kHeadBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// A member of a group. Work of streams shares it.
struct Member {
  ~Member() { ::munmap(head, kGroupBytes); }
  std::byte* area(int of) const {
    return reinterpret_cast<std::byte*>(head) + kHeadBytes +
           static_cast<size_t>(of) * kAreaBytes;
  }
  // Whether all have what this member sent last.
  bool MaySend() const {
    for (int other = 0; other < members; ++other) {
      if (other != rank && head->done[other] < head->sent[rank]) return false;
    }
    return true;
  }
  bool AllSent(uint64_t call) const {
    return std::all_of(head->sent, head->sent + members,
                       [call](const auto& sent) { return sent >= call; });
  }

  Head* head = nullptr;
  int rank = 0;
  int members = 0;
  bool silent = false;
  uint64_t calls = 0;
  std::atomic<bool> aborted = false;
};

struct State {
  std::mutex mutex;
  FakeNccl fake;
  FakeNcclCounts counts;
};
State& TheState() {
  static State* const state = new State;
  return *state;
}
FakeNccl Planned() {
  const std::lock_guard lock(TheState().mutex);
  return TheState().fake;
}
void Count(uint64_t FakeNcclCounts::*count) {
  const std::lock_guard lock(TheState().mutex);
  ++(TheState().counts.*count);
}

Result GetVersion(int* version) {
  *version = 22809;
  return nccl::kSuccess;
}

const char* GetErrorString(Result result) {
  return result == nccl::kRemoteError ? "remote process exited"
                                      : "internal error";
}

const char* GetLastError(nccl::Comm* /*comm*/) { return "planned by a test"; }

// The id is a file of this process that others can open as long as it lives.
Result GetUniqueId(nccl::UniqueId* id) {
  if (const Result planned = Planned().unique_id; planned != nccl::kSuccess) {
    return planned;
  }
  const int fd = ::memfd_create("fake-nccl", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(kGroupBytes)) != 0) {
    return nccl::kSystemError;
  }
  std::snprintf(id->bytes, sizeof(id->bytes), "/proc/%d/fd/%d",
                static_cast<int>(::getpid()), fd);
  return nccl::kSuccess;
}

}  // namespace
}  // namespace fgnn::simt

namespace fgnn::nccl {

struct Comm {
  std::shared_ptr<simt::Member> member;
};

}  // namespace fgnn::nccl

namespace fgnn::simt {
namespace {

using nccl::Comm;

Result CommInitRankConfig(Comm** comm, int members, nccl::UniqueId id, int rank,
                          nccl::Config* config) {
  const FakeNccl planned = Planned();
  if (planned.init != nccl::kSuccess) return planned.init;
  if (config->magic != 0xcafebeef || config->blocking != 0 || rank < 0 ||
      rank >= members || members > kMostMembers) {
    return nccl::kInvalidArgument;
  }
  const int fd = ::open(id.bytes, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nccl::kSystemError;
  void* const mapped = ::mmap(nullptr, kGroupBytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) return nccl::kSystemError;
  auto member = std::make_shared<Member>();
  member->head = static_cast<Head*>(mapped);
  member->rank = rank;
  member->members = members;
  member->silent = planned.silent;
  ++member->head->joined;
  *comm = new Comm{std::move(member)};
  Count(&FakeNcclCounts::communicators);
  return nccl::kInProgress;
}

Result CommGetAsyncError(Comm* comm, Result* result) {
  const Member& member = *comm->member;
  *result = member.head->joined < member.members ? nccl::kInProgress
                                                 : Planned().async;
  return nccl::kSuccess;
}

Result CommAbort(Comm* comm) {
  comm->member->aborted = true;
  delete comm;
  Count(&FakeNcclCounts::aborts);
  return nccl::kSuccess;
}

Result GroupStart() { return nccl::kSuccess; }
Result GroupEnd() { return nccl::kSuccess; }

// Does `work` on the stream once `ready`, or nothing if it is aborted before.
Result Enqueue(cudaStream_t stream, const std::shared_ptr<Member>& member,
               std::function<bool()> ready, std::function<void()> work) {
  FakeRuntime& runtime = FakeRuntime::Get();
  const cudaError_t error = runtime.Call([&] {
    return runtime.AddWork(stream, {.run =
                                        [member, work = std::move(work)] {
                                          if (!member->aborted) work();
                                        },
                                    .ready =
                                        [member, ready = std::move(ready)] {
                                          return member->aborted || ready();
                                        }});
  });
  return error == cudaSuccess ? nccl::kSuccess : nccl::kUnhandledCudaError;
}

Result Send(cudaStream_t stream, const std::shared_ptr<Member>& member,
            uint64_t call, const void* from, size_t bytes) {
  return Enqueue(
      stream, member,
      [raw = member.get()] { return !raw->silent && raw->MaySend(); },
      [raw = member.get(), call, from, bytes] {
        std::memcpy(raw->area(raw->rank), from, bytes);
        raw->head->sent[raw->rank] = call;
      });
}

Result CheckExchange(size_t count, nccl::DataType type) {
  if (type != nccl::kFloat32 || count * sizeof(float) > kAreaBytes) {
    return nccl::kInvalidArgument;
  }
  return Planned().exchange;
}

Result Broadcast(const void* from, void* to, size_t count, nccl::DataType type,
                 int root, Comm* comm, cudaStream_t stream) {
  if (const Result bad = CheckExchange(count, type); bad != nccl::kSuccess) {
    return bad;
  }
  if (from != to) return nccl::kInvalidArgument;  // All of ours are in place.
  Count(&FakeNcclCounts::broadcasts);
  const std::shared_ptr<Member> member = comm->member;
  const uint64_t call = ++member->calls;
  const size_t bytes = count * sizeof(float);
  if (member->rank == root) {
    const Result sent = Send(stream, member, call, from, bytes);
    if (sent != nccl::kSuccess) return sent;
    return Enqueue(
        stream, member, [] { return true; },
        [raw = member.get(), call] { raw->head->done[raw->rank] = call; });
  }
  return Enqueue(
      stream, member,
      [raw = member.get(), call, root] {
        return raw->head->sent[root] >= call;
      },
      [raw = member.get(), call, root, to, bytes] {
        std::memcpy(to, raw->area(root), bytes);
        raw->head->done[raw->rank] = call;
      });
}

Result AllReduce(const void* from, void* to, size_t count, nccl::DataType type,
                 nccl::Reduction reduction, Comm* comm, cudaStream_t stream) {
  if (const Result bad = CheckExchange(count, type); bad != nccl::kSuccess) {
    return bad;
  }
  if (reduction != nccl::kSum) return nccl::kInvalidArgument;
  Count(&FakeNcclCounts::sums);
  const std::shared_ptr<Member> member = comm->member;
  const uint64_t call = ++member->calls;
  const Result sent = Send(stream, member, call, from, count * sizeof(float));
  if (sent != nccl::kSuccess) return sent;
  return Enqueue(
      stream, member, [raw = member.get(), call] { return raw->AllSent(call); },
      [raw = member.get(), call, to, count] {
        float* const sum = static_cast<float*>(to);
        std::fill_n(sum, count, 0.0F);
        for (int of = raw->members - 1; of >= 0; --of) {
          const auto* const array =
              reinterpret_cast<const float*>(raw->area(of));
          for (size_t i = 0; i < count; ++i) sum[i] += array[i];
        }
        raw->head->done[raw->rank] = call;
      });
}

}  // namespace

void SetFakeNccl(const FakeNccl& fake) {
  const std::lock_guard lock(TheState().mutex);
  TheState().fake = fake;
  TheState().counts = {};
}

FakeNcclCounts GetFakeNcclCounts() {
  const std::lock_guard lock(TheState().mutex);
  return TheState().counts;
}

nccl::Api FakeNcclApi() {
  return {GetVersion,         GetErrorString,    GetLastError, GetUniqueId,
          CommInitRankConfig, CommGetAsyncError, CommAbort,    GroupStart,
          GroupEnd,           Broadcast,         AllReduce};
}

}  // namespace fgnn::simt
