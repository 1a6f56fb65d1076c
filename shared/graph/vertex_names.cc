#include "shared/graph/vertex_names.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/printable_text.h"

namespace fgnn {
namespace {

constexpr size_t kMostQuotedBytes = 60;

}  // namespace

std::string KindPrefix(std::string_view kind) {
  return std::string(kind) + ":";
}

VertexName PartsOfName(std::string_view name,
                       absl::Span<const std::string> kinds) {
  for (const std::string& kind : kinds) {
    if (name.starts_with(kind) && name.substr(kind.size()).starts_with(':')) {
      return {kind, name.substr(kind.size() + 1)};
    }
  }
  return {{}, name};
}

VertexFinder::VertexFinder(const Dataset& dataset)
    : dataset_(dataset), vertices_(0, Hash{&dataset}, Equal{&dataset}) {
  vertices_.reserve(dataset.num_nodes());
  for (uint64_t v = 0; v < dataset.num_nodes(); ++v) {
    vertices_.insert(static_cast<GlobalId>(v));
  }
}

absl::StatusOr<GlobalId> VertexFinder::Find(std::string_view text) const {
  if (const auto named = vertices_.find(text); named != vertices_.end()) {
    return *named;
  }
  std::vector<std::string> names;
  GlobalId vertex = 0;
  for (const std::string& kind : dataset_.kinds()) {
    const std::string name = KindPrefix(kind) + std::string(text);
    const auto named = vertices_.find(std::string_view(name));
    if (named == vertices_.end()) continue;
    vertex = *named;
    names.push_back(PrintableText(name, kMostQuotedBytes));
  }
  if (names.size() == 1) return vertex;
  const std::string quoted = PrintableText(text, kMostQuotedBytes);
  if (names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", quoted, "' is no vertex; write a name of ",
                     (dataset_.folder() / "names.txt").string(), ", such as ",
                     PrintableText(dataset_.NodeName(0), kMostQuotedBytes),
                     ", or its id alone"));
  }
  return absl::InvalidArgumentError(absl::StrCat("'", quoted, "' may be ",
                                                 absl::StrJoin(names, " or "),
                                                 "; write the whole name"));
}

}  // namespace fgnn
