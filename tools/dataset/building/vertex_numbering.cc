#include "tools/dataset/building/vertex_numbering.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/units.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

// Most vertices per end of an edge in a graph that passes as one with isolated
// vertices.
constexpr uint64_t kMaxSparsity = 16;
constexpr uint64_t kSmallGraph = uint64_t{1} << 20;

absl::Status TooMany() {
  return absl::InvalidArgumentError(
      "more than 2^32 - 1 vertices, which no dataset may have");
}

}  // namespace

bool IsTooSparse(uint64_t num_nodes, uint64_t num_edges) {
  return num_nodes > kSmallGraph && num_nodes / kMaxSparsity > 2 * num_edges;
}

absl::StatusOr<GlobalId> VertexNumbering::NumberInteger(std::string_view id) {
  uint64_t value = 0;
  if (!ParseNumber(id, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(id),
                     "' is not a vertex number; pass --string-ids if ids are "
                     "arbitrary text"));
  }
  if (kind_ == Kind::kOneBased) {
    if (value == 0) {
      return absl::InvalidArgumentError(
          "vertex 0 where vertices count from 1; drop --one-based");
    }
    --value;
  }
  if (value >= kMaxNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("vertex ", std::string(id),
                     " is beyond 2^32 - 2; pass --string-ids to number the "
                     "vertices anew"));
  }
  num_integers_ = std::max(num_integers_, value + 1);
  return static_cast<GlobalId>(value);
}

std::string_view VertexNumbering::NameOf(std::string_view id,
                                         std::string_view kind) {
  if (kind.empty()) return id;
  name_.assign(kind);
  name_.push_back(':');
  name_.append(id);
  return name_;
}

bool VertexNumbering::IsClosed(std::string_view kind) const {
  return kind_ == Kind::kKnownNames ||
         std::find(closed_.begin(), closed_.end(), kind) != closed_.end();
}

absl::StatusOr<GlobalId> VertexNumbering::Number(std::string_view id,
                                                 std::string_view kind) {
  if (!has_names()) return NumberInteger(id);
  id = TrimBlanks(id);
  if (id.empty()) return absl::InvalidArgumentError("a vertex id is empty");
  const std::string_view name = NameOf(id, kind);
  if (IsClosed(kind)) {
    const uint32_t number = names_.Find(name);
    if (number != StringIds::kNone) return number;
    return absl::InvalidArgumentError(absl::StrCat(
        "vertex '", std::string(id),
        "' is not in the nodes file; add it there, or drop the edge"));
  }
  const uint32_t number = names_.Intern(name);
  if (number == StringIds::kNone) return TooMany();
  return number;
}

absl::StatusOr<GlobalId> VertexNumbering::Declare(std::string_view id,
                                                  std::string_view kind) {
  id = TrimBlanks(id);
  if (id.empty()) return absl::InvalidArgumentError("the vertex id is empty");
  const uint64_t next = names_.size();
  const uint32_t number = names_.Intern(NameOf(id, kind));
  if (number == StringIds::kNone) return TooMany();
  if (number == next) return number;
  return absl::AlreadyExistsError(absl::StrCat(
      "vertex '", std::string(id), "' is there twice; keep one of the two"));
}

absl::Status VertexNumbering::CheckDense(uint64_t num_edges) const {
  if (has_names() || !IsTooSparse(num_integers_, num_edges)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "vertex numbers reach ", FormatCount(num_integers_ - 1), " but only ",
      FormatCount(num_edges),
      " edges use them; pass --string-ids to number the vertices anew"));
}

}  // namespace fgnn
