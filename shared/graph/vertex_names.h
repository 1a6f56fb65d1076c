// Names of vertices that are of several kinds: "KIND:ID".
#ifndef FGNN_SHARED_GRAPH_VERTEX_NAMES_H_
#define FGNN_SHARED_GRAPH_VERTEX_NAMES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Returns what stands before the ID in each name of a vertex of this kind:
// "KIND:".
std::string KindPrefix(std::string_view kind);

// The parts of a name. Borrowed.
struct VertexName {
  std::string_view kind;  // Empty: the name begins with none of the kinds.
  std::string_view id;    // Unique among the vertices of its kind.
};

// Returns the parts of a name: kind "userId" and id "5" of "userId:5".
VertexName PartsOfName(std::string_view name,
                       absl::Span<const std::string> kinds);

// Finds vertices by what users call them. Borrows the dataset, which has kinds.
// Safe to call from any thread. Memory: some 10 bytes for each vertex.
class VertexFinder {
 public:
  explicit VertexFinder(const Dataset& dataset);

  // Returns the vertex with this name. `text` may also be an id that vertices
  // of only one kind have. InvalidArgument, with the way out: no vertex is
  // called so, or a vertex of each of several kinds.
  absl::StatusOr<GlobalId> Find(std::string_view text) const;

 private:
  // Vertices are equal if their names are.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
    size_t operator()(GlobalId v) const {
      return (*this)(dataset->NodeName(v));
    }
    const Dataset* dataset;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(GlobalId a, GlobalId b) const {
      return (*this)(a, dataset->NodeName(b));
    }
    bool operator()(GlobalId v, std::string_view name) const {
      return dataset->NodeName(v) == name;
    }
    const Dataset* dataset;
  };

  const Dataset& dataset_;
  absl::flat_hash_set<GlobalId, Hash, Equal> vertices_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_VERTEX_NAMES_H_
