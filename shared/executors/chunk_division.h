// How the chunks of an evaluation are divided over the hosts of a job. The
// scheduler of each host writes it into the memory that its trainers share for
// the evaluation, before a trainer has it.
#ifndef FGNN_SHARED_EXECUTORS_CHUNK_DIVISION_H_
#define FGNN_SHARED_EXECUTORS_CHUNK_DIVISION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/device/device.h"

namespace fgnn {

// In shared memory: fixed widths, no pointers.
struct ChunkDivision {
  // Number of the evaluation, another one for each of a job; 0: one host
  // evaluates alone.
  uint64_t evaluation = 0;
  uint32_t num_hosts = 0;
  uint32_t self = 0;  // Index of the host that has the memory.
  // Number of devices that train, by host.
  std::array<uint16_t, kMostHosts> trainers = {};

  bool is_divided() const { return evaluation != 0; }
};

// Where it lies in the memory: in the first page, behind what the trainers
// count.
inline constexpr uint64_t kChunkDivisionOffset = 3904;
inline constexpr uint64_t kChunkDivisionEnd = 4096;
static_assert(kChunkDivisionOffset + sizeof(ChunkDivision) <=
              kChunkDivisionEnd);

// Writes the division into memory that is empty, which has one page then.
absl::Status WriteChunkDivision(int memory, const ChunkDivision& division);
// Reads what was written; `evaluation` is 0 if nothing was. InvalidArgument:
// there are no such hosts.
absl::StatusOr<ChunkDivision> ReadChunkDivision(int memory);

// Returns the end of each host's chunks, of which the first begin with chunk 0.
// `work_before`: [chunks + 1] the work of all chunks before each. The hosts get
// work in proportion to their trainers.
std::vector<uint32_t> EndsOfHosts(const ChunkDivision& division,
                                  absl::Span<const uint64_t> work_before);

}  // namespace fgnn

#endif  // FGNN_SHARED_EXECUTORS_CHUNK_DIVISION_H_
