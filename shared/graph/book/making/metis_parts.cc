#include "shared/graph/book/making/metis_parts.h"

#include <metis.h>

#include <array>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "shared/graph/book/making/undirected_graph.h"
#include "shared/graph/host_rows.h"

namespace fgnn {
namespace {

static_assert(sizeof(idx_t) == sizeof(int32_t));

constexpr char kAdvice[] = "take --method stream";
constexpr uint64_t kMostEntries = INT32_MAX;
// Measured on graphs of 5 to 100 million entries (README.md), with room.
constexpr uint64_t kMetisBytesAnEntry = 90;

// What is known beforehand is the user's to change.
absl::Status CheckNeed(uint64_t bytes) {
  const absl::Status status = CheckMemory(bytes, "METIS needs", kAdvice);
  return status.ok() ? status : absl::InvalidArgumentError(status.message());
}

absl::Status CheckLimit(uint64_t need, std::string_view what) {
  if (need <= kMostEntries) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "METIS takes at most ", FormatCount(kMostEntries), " ", std::string(what),
      ", and this graph has ", FormatCount(need), "; ", kAdvice));
}

absl::StatusOr<std::string> PartInThisProcess(UndirectedGraph graph,
                                              const BookWeights& weights) {
  std::array<idx_t, METIS_NOPTIONS> options;
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = 1;
  idx_t num_nodes = static_cast<idx_t>(graph.begins.size() - 1);
  idx_t kinds = static_cast<idx_t>(weights.kinds);
  idx_t num_parts = kFineParts;
  idx_t cut = 0;
  std::vector<idx_t> parts(graph.begins.size() - 1);
  const int code = METIS_PartGraphRecursive(
      &num_nodes, &kinds, graph.begins.data(), graph.entries.data(),
      // Read only.
      const_cast<idx_t*>(weights.of_vertices.data()), /*vsize=*/nullptr,
      /*adjwgt=*/nullptr, &num_parts, /*tpwgts=*/nullptr, /*ubvec=*/nullptr,
      options.data(), &cut, parts.data());
  if (code == METIS_ERROR_MEMORY) throw std::bad_alloc();
  if (code != METIS_OK) {
    return absl::InternalError(absl::StrCat("METIS failed with code ", code));
  }
  return std::string(parts.begin(), parts.end());
}

}  // namespace

absl::StatusOr<std::string> MetisParts(const CscView& graph,
                                       const BookWeights& weights,
                                       StageCallback stage) {
  FGNN_RETURN_IF_ERROR(
      CheckLimit(graph.num_nodes() * weights.kinds,
                 "vertices, counted once for each thing to balance"));
  FGNN_RETURN_IF_ERROR(CheckNeed(UndirectedBytes(graph)));
  return RunInOwnProcess(
      "METIS", kAdvice, stage,
      [&](StageCallback tell) -> absl::StatusOr<std::string> {
        FGNN_RETURN_IF_ERROR(tell("undirected graph"));
        FGNN_ASSIGN_OR_RETURN(UndirectedGraph undirected,
                              MakeUndirected(graph, kMostEntries));
        const uint64_t num_entries = undirected.num_entries;
        FGNN_RETURN_IF_ERROR(
            CheckLimit(num_entries, "neighbours, those of both directions"));
        FGNN_RETURN_IF_ERROR(CheckNeed(kMetisBytesAnEntry * num_entries));
        FGNN_RETURN_IF_ERROR(tell("METIS"));
        return PartInThisProcess(std::move(undirected), weights);
      });
}

}  // namespace fgnn
