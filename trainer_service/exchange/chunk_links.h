// The links over which a host asks another one for results of an evaluation.
// Results are keyed by loop and chunk, written once, and a pure function of the
// evaluation. So a host may ask for them again after any break.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_LINKS_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_LINKS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace fgnn {

// The place of a chunk among the results of an evaluation.
struct ChunkPlace {
  uint32_t loop = 0;
  uint32_t chunk = 0;

  friend bool operator==(const ChunkPlace&, const ChunkPlace&) = default;
};

// A piece of a chunk's rows. Pieces of a chunk follow each other.
struct ChunkPiece {
  ChunkPlace place;
  absl::Span<const float> floats;
  // CRC32C of the chunk, with its last piece.
  std::optional<uint32_t> crc = std::nullopt;
};
using TakePiece = absl::FunctionRef<absl::Status(const ChunkPiece&)>;

// Thread-safe.
class ChunkLinks {
 public:
  virtual ~ChunkLinks() = default;
  // Asks host `host` for its chunks of an evaluation from `first` on, and calls
  // `take` with their pieces. Returns OK behind the last one. Ends with the
  // first error of `take`. Asks `is_stopped` about ten times a second;
  // Cancelled: it returned true. Unavailable: the link is broken, or the host
  // does not have the evaluation yet.
  virtual absl::Status CopyChunks(uint32_t host, uint64_t evaluation,
                                  const ChunkPlace& first, TakePiece take,
                                  const std::function<bool()>& is_stopped) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_LINKS_H_
