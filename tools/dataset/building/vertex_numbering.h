// Turns the ids of a text source into global ids.
#ifndef FGNN_TOOLS_DATASET_BUILDING_VERTEX_NUMBERING_H_
#define FGNN_TOOLS_DATASET_BUILDING_VERTEX_NUMBERING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "tools/dataset/building/string_ids.h"

namespace fgnn {

// Returns true if a graph of so many vertices is unlikely to have so few edges.
// The numbers are then arbitrary keys, or a count is wrong, and the graph's
// index would fill the disk with zeros. Small graphs are never sparse.
bool IsTooSparse(uint64_t num_nodes, uint64_t num_edges);

// Not thread-safe. Errors do not name a place: the caller adds the place in its
// file.
class VertexNumbering {
 public:
  enum class Kind : uint8_t {
    kIntegers,  // The id is the global id.
    kOneBased,  // The id less one is the global id.
    kNames,     // Ids are any text, numbered in the order of first appearance.
    kKnownNames,  // As kNames, but only Declare() gives numbers.
  };
  explicit VertexNumbering(Kind kind) : kind_(kind) {}

  // Returns the vertex of an id. If vertices are of several kinds, its name is
  // "KIND:ID"; only kNames and kKnownNames have kinds.
  absl::StatusOr<GlobalId> Number(std::string_view id,
                                  std::string_view kind = {});
  // Only with names: adds the next vertex. AlreadyExists if there is a vertex
  // of that id.
  absl::StatusOr<GlobalId> Declare(std::string_view id,
                                   std::string_view kind = {});
  // From here on, only vertices that were declared are of this kind.
  void Close(const std::string& kind) { closed_.push_back(kind); }

  // Returns one more than the highest global id.
  uint64_t num_nodes() const {
    return has_names() ? names_.size() : num_integers_;
  }
  bool has_names() const {
    return kind_ == Kind::kNames || kind_ == Kind::kKnownNames;
  }
  const StringIds& names() const { return names_; }

  // InvalidArgument if the largest integer makes the graph IsTooSparse().
  absl::Status CheckDense(uint64_t num_edges) const;

 private:
  absl::StatusOr<GlobalId> NumberInteger(std::string_view id);
  std::string_view NameOf(std::string_view id, std::string_view kind);
  bool IsClosed(std::string_view kind) const;

  Kind kind_;
  uint64_t num_integers_ = 0;
  StringIds names_;
  std::vector<std::string> closed_;  // Kinds without further vertices.
  std::string name_;                 // Memory of NameOf().
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_VERTEX_NUMBERING_H_
