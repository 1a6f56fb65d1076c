#include "shared/executors/chunk_division.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {

static_assert(std::is_trivially_copyable_v<ChunkDivision>);

absl::Status WriteChunkDivision(int memory, const ChunkDivision& division) {
  if (::ftruncate(memory, static_cast<off_t>(kChunkDivisionEnd)) != 0 ||
      ::pwrite(memory, &division, sizeof(division),
               static_cast<off_t>(kChunkDivisionOffset)) !=
          static_cast<ssize_t>(sizeof(division))) {
    return ErrnoToStatus(errno, "divide an evaluation over hosts");
  }
  return absl::OkStatus();
}

absl::StatusOr<ChunkDivision> ReadChunkDivision(int memory) {
  ChunkDivision division;
  const ssize_t got = ::pread(memory, &division, sizeof(division),
                              static_cast<off_t>(kChunkDivisionOffset));
  if (got < 0) return ErrnoToStatus(errno, "look at an evaluation's memory");
  // Nobody has written to memory of one host before its trainers do.
  if (got == 0 || !division.is_divided()) return ChunkDivision();
  if (got != static_cast<ssize_t>(sizeof(division)) ||
      division.num_hosts > division.trainers.size() ||
      division.self >= division.num_hosts) {
    return absl::InvalidArgumentError(
        absl::StrCat("an evaluation's memory is of host ", division.self,
                     " of ", division.num_hosts));
  }
  return division;
}

std::vector<uint32_t> EndsOfHosts(const ChunkDivision& division,
                                  absl::Span<const uint64_t> work_before) {
  uint64_t all_trainers = 0;
  for (uint32_t host = 0; host < division.num_hosts; ++host) {
    all_trainers += division.trainers[host];
  }
  const auto num_chunks = static_cast<uint32_t>(work_before.size() - 1);
  std::vector<uint32_t> ends;
  uint64_t trainers = 0;
  for (uint32_t host = 0; host < division.num_hosts; ++host) {
    trainers += division.trainers[host];
    const double work =
        static_cast<double>(work_before.back()) *
        static_cast<double>(trainers) /
        static_cast<double>(std::max<uint64_t>(all_trainers, 1));
    const auto end =
        std::lower_bound(work_before.begin(), work_before.end(), work,
                         [](uint64_t before, double wanted) {
                           return static_cast<double>(before) < wanted;
                         });
    ends.push_back(
        std::min(num_chunks, static_cast<uint32_t>(end - work_before.begin())));
  }
  if (!ends.empty()) ends.back() = num_chunks;
  return ends;
}

}  // namespace fgnn
