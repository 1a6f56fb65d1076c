#include "shared/graph/validate.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/read_once.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr uintptr_t kPageBytes = 4096;
constexpr size_t kReleaseBytes = size_t{16} << 20;
constexpr size_t kBlockElements = 1 << 12;
constexpr char kRebuild[] = "; rebuild the dataset";

// Drops the mapping's pages that lie wholly in [begin, end). They stay in the
// page cache, but not in this process. It is only advice, so a refusal does no
// harm.
void Release(const void* begin, const void* end) {
  const uintptr_t from =
      (reinterpret_cast<uintptr_t>(begin) + kPageBytes - 1) & ~(kPageBytes - 1);
  const uintptr_t to = reinterpret_cast<uintptr_t>(end) & ~(kPageBytes - 1);
  if (to > from)
    ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

// Returns the place of the first element for which is_bad() holds, or
// values.size(). The inner loop only gathers a flag, so that it is vectorised.
template <typename T, typename IsBad>
size_t FindBad(absl::Span<const T> values, IsBad is_bad) {
  const size_t per_release = kReleaseBytes / sizeof(T);
  for (size_t chunk = 0; chunk < values.size(); chunk += per_release) {
    const size_t chunk_end = std::min(values.size(), chunk + per_release);
    for (size_t begin = chunk; begin < chunk_end; begin += kBlockElements) {
      const size_t end = std::min(chunk_end, begin + kBlockElements);
      unsigned bad = 0;
      for (size_t i = begin; i < end; ++i) {
        bad |= static_cast<unsigned>(is_bad(values[i]));
      }
      if (bad != 0) {
        return static_cast<size_t>(
            std::find_if(values.begin() + begin, values.begin() + end, is_bad) -
            values.begin());
      }
    }
    Release(values.data() + chunk, values.data() + chunk_end);
  }
  return values.size();
}

template <typename T, typename... Parts>
absl::Status Bad(const std::string& file, size_t place, T value,
                 const Parts&... reason) {
  return absl::InvalidArgumentError(absl::StrCat(
      file, ": element ", place, " is ", value, ", ", reason..., kRebuild));
}

template <typename T>
absl::Status CheckIndexSpan(const std::string& file,
                            absl::Span<const T> indices, uint64_t limit,
                            uint64_t num_nodes, bool is_signed) {
  // A negative id is large as an unsigned number.
  const size_t place = FindBad(indices, [limit](T index) {
    return static_cast<std::make_unsigned_t<T>>(index) >= limit;
  });
  if (place == indices.size()) return absl::OkStatus();
  const int64_t value = is_signed ? static_cast<int32_t>(indices[place])
                                  : static_cast<int64_t>(indices[place]);
  return Bad(file, place, value, "but the graph has ", num_nodes, " vertices");
}

// Only NaN and infinity have all bits of the exponent set.
template <typename Bits>
size_t FindNotFinite(const FeatureView& features, Bits exponent) {
  const absl::Span<const Bits> bits(
      reinterpret_cast<const Bits*>(features.data),
      static_cast<size_t>(features.rows * features.columns));
  return FindBad(bits, [exponent](Bits value) {
    return static_cast<Bits>(value & exponent) == exponent;
  });
}

std::string NameOfNotFinite(const FeatureView& features, size_t place) {
  uint32_t mantissa = 0;
  if (features.type == FeatureType::kFloat32) {
    std::memcpy(&mantissa, features.data + place * 4, 4);
    mantissa &= 0x007fffff;
  } else {
    std::memcpy(&mantissa, features.data + place * 2, 2);
    mantissa &= features.type == FeatureType::kFloat16 ? 0x03ff : 0x007f;
  }
  return mantissa == 0 ? "infinite" : "NaN";
}

}  // namespace

uint32_t CrcOfMapped(absl::Span<const std::byte> bytes) {
  uint32_t crc = 0;
  for (size_t begin = 0; begin < bytes.size(); begin += kReleaseBytes) {
    const absl::Span<const std::byte> part =
        bytes.subspan(begin, kReleaseBytes);
    crc = ExtendCrc32c(crc, part.data(), part.size());
    Release(part.data(), part.data() + part.size());
  }
  return crc;
}

absl::Status CheckIndptr(const std::string& file,
                         absl::Span<const EdgeOffset> indptr,
                         uint64_t num_edges) {
  if (indptr.front() != 0) return Bad(file, 0, indptr.front(), "but must be 0");
  // Neighbouring pairs overlap, so FindBad() cannot check them.
  const size_t per_release = kReleaseBytes / sizeof(EdgeOffset);
  for (size_t begin = 1; begin < indptr.size(); begin += per_release) {
    const size_t end = std::min(indptr.size(), begin + per_release);
    unsigned falls = 0;
    for (size_t i = begin; i < end; ++i) {
      falls |= static_cast<unsigned>(indptr[i] < indptr[i - 1]);
    }
    for (size_t i = begin; falls != 0 && i < end; ++i) {
      if (indptr[i] < indptr[i - 1]) {
        return Bad(file, i, indptr[i], "which is less than the ", indptr[i - 1],
                   " before it");
      }
    }
    Release(indptr.data() + begin, indptr.data() + end - 1);
  }
  if (static_cast<uint64_t>(indptr.back()) != num_edges) {
    return Bad(file, indptr.size() - 1, indptr.back(), "but there are ",
               num_edges, " edges");
  }
  return absl::OkStatus();
}

absl::Status CheckIndices(const std::string& file, const CscView& graph,
                          bool is_signed) {
  const uint64_t num_nodes = graph.num_nodes();
  if (const auto* narrow =
          std::get_if<absl::Span<const uint32_t>>(&graph.indices)) {
    const uint64_t limit =
        is_signed ? std::min(num_nodes, uint64_t{1} << 31) : num_nodes;
    return CheckIndexSpan(file, *narrow, limit, num_nodes, is_signed);
  }
  return CheckIndexSpan(file,
                        std::get<absl::Span<const int64_t>>(graph.indices),
                        num_nodes, num_nodes, /*is_signed=*/false);
}

absl::Status CheckLabels(const std::string& file,
                         absl::Span<const int64_t> labels,
                         uint32_t num_classes) {
  const size_t place = FindBad(labels, [num_classes](int64_t label) {
    return static_cast<uint64_t>(label) + 1 > num_classes;
  });
  if (place == labels.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": element ", place, " is ", labels[place],
                   ", which is not in [-1, ", num_classes,
                   "); correct it, or num_classes in metadata.yaml"));
}

absl::Status CheckSplit(const std::string& file, absl::Span<const int64_t> ids,
                        absl::Span<const int64_t> labels,
                        const TargetView& targets, uint64_t num_nodes) {
  std::vector<bool> seen(num_nodes);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ReadOnce(ids[i]);
    const auto v = static_cast<size_t>(id);
    if (v >= num_nodes) {
      return Bad(file, i, id, "but the graph has ", num_nodes, " vertices");
    }
    if (targets.rows > 0) {
      const uint32_t column = targets.FirstMissing(static_cast<GlobalId>(v));
      if (column < targets.columns) {
        return absl::InvalidArgumentError(
            absl::StrCat(file, ": element ", i, " is vertex ", v,
                         ", which has no target in column ", column,
                         "; leave it out of the split"));
      }
    } else if (labels.empty() || labels[v] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": element ", i, " is vertex ", v,
                       ", which has no label; leave it out of the split"));
    }
    if (seen[v]) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": element ", i, " is vertex ", v,
                       ", which was there before; keep it once"));
    }
    seen[v] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckEdges(const std::string& file, const EdgeView& edges,
                        uint64_t num_nodes) {
  for (uint64_t i = 0; i < edges.size(); ++i) {
    const Edge edge = edges[i];
    for (const uint64_t end : {edge.source, edge.destination}) {
      if (end < num_nodes) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": row ", i, ", column ", end == edge.source ? 0 : 1, " is ",
          static_cast<int64_t>(end), ", but the graph has ", num_nodes,
          " vertices", kRebuild));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFeatures(const std::string& file,
                           const FeatureView& features) {
  size_t place = 0;
  switch (features.type) {
    case FeatureType::kFloat32:
      place = FindNotFinite<uint32_t>(features, 0x7f800000);
      break;
    case FeatureType::kFloat16:
      place = FindNotFinite<uint16_t>(features, 0x7c00);
      break;
    case FeatureType::kBfloat16:
      place = FindNotFinite<uint16_t>(features, 0x7f80);
      break;
  }
  if (place == features.rows * features.columns) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      file, ": row ", place / features.columns, ", column ",
      place % features.columns, " is ", NameOfNotFinite(features, place),
      "; replace it by a finite number and import again"));
}

absl::Status CheckTargets(const std::string& file, const TargetView& targets) {
  const auto num_targets = static_cast<size_t>(targets.rows * targets.columns);
  if (num_targets == 0) return absl::OkStatus();
  const auto place_of = [&](size_t place) {
    return absl::StrCat(file, ": row ", place / targets.columns, ", column ",
                        place % targets.columns, " is ");
  };
  if (targets.type == TargetType::kFloat32) {
    const size_t place = FindBad(
        absl::Span<const uint32_t>(
            reinterpret_cast<const uint32_t*>(targets.data), num_targets),
        [](uint32_t bits) { return (bits & 0x7fffffff) == 0x7f800000; });
    if (place == num_targets) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        place_of(place),
        "infinite; replace it by a finite number, or by NaN for none, and "
        "import again"));
  }
  const absl::Span<const uint8_t> bits(
      reinterpret_cast<const uint8_t*>(targets.data), num_targets);
  const size_t place =
      FindBad(bits, [](uint8_t bit) { return (bit > 1) & (bit != kNoBit); });
  if (place == num_targets) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      place_of(place), bits[place],
      ", but a class is 1 (in the set), 0 (not in it) or 255 (not known); "
      "correct it"));
}

absl::Status CheckEdgeWeights(const std::string& file,
                              absl::Span<const float> weights) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const size_t place = FindBad(weights, [](float weight) {
    return !(weight >= 0.0F) || !(weight <= kLargest);
  });
  if (place == weights.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": element ", place, " is ", weights[place],
                   ", but a weight is finite and not negative; correct it"));
}

absl::Status CheckNames(const std::string& file, std::string_view text,
                        uint64_t num_nodes) {
  uint64_t lines = 0;
  for (size_t begin = 0; begin < text.size(); begin += kReleaseBytes) {
    const std::string_view part = text.substr(begin, kReleaseBytes);
    lines += static_cast<uint64_t>(std::count(part.begin(), part.end(), '\n'));
    Release(part.data(), part.data() + part.size());
  }
  if (!text.empty() && text.back() != '\n') ++lines;
  if (lines == num_nodes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": has ", lines, " lines, but the graph has ",
                   num_nodes, " vertices; write a line for each"));
}

}  // namespace fgnn
