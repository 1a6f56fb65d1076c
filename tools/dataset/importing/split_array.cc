#include "tools/dataset/importing/split_array.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/enum_words.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "tools/dataset/importing/import_arrays.h"

namespace fgnn {
namespace {

// NumPy's names of types.
constexpr EnumWord<NpyType> kDtypes[] = {
    {NpyType::kF16, "float16"}, {NpyType::kF32, "float32"},
    {NpyType::kF64, "float64"}, {NpyType::kI8, "int8"},
    {NpyType::kU8, "uint8"},    {NpyType::kU16, "uint16"},
    {NpyType::kI32, "int32"},   {NpyType::kU32, "uint32"},
    {NpyType::kI64, "int64"},   {NpyType::kU64, "uint64"},
    {NpyType::kBool, "bool"}};

// Returns "data.npz (train_mask): is [3] of int64".
std::string Describe(const ArrayStream& array) {
  return absl::StrCat(array.what(), ": is [",
                      absl::StrJoin(array.shape(), ", "), "] of ",
                      std::string(WordIn(kDtypes, array.type())));
}

absl::Status NotAMask(const ArrayStream& array, std::string_view but,
                      uint64_t num_nodes) {
  return absl::InvalidArgumentError(absl::StrCat(
      Describe(array), std::string(but), ", where a mask of the ", num_nodes,
      " vertices is expected, [", num_nodes,
      "] of bool or of 0 and 1; save a list of vertices as integers in "
      "train_idx, valid_idx or test_idx"));
}

absl::StatusOr<std::vector<int64_t>> ReadMask(ArrayStream mask,
                                              uint64_t num_nodes) {
  if (mask.shape().empty() || mask.shape()[0] != num_nodes ||
      mask.num_elements() != num_nodes) {
    return NotAMask(mask, "", num_nodes);
  }
  std::vector<int64_t> chosen;
  // Every type converts to float, and only 0 and 1 become 0 and 1.
  std::vector<float> chunk;
  for (uint64_t done = 0; done < num_nodes; done += chunk.size()) {
    chunk.resize(std::min<uint64_t>(kChunkElements, num_nodes - done));
    FGNN_RETURN_IF_ERROR(mask.Read(absl::MakeSpan(chunk)));
    for (size_t i = 0; i < chunk.size(); ++i) {
      if (chunk[i] != 0.0F && chunk[i] != 1.0F) {
        return NotAMask(
            mask, absl::StrCat(" and its element ", done + i, " is ", chunk[i]),
            num_nodes);
      }
      if (chunk[i] == 1.0F) chosen.push_back(static_cast<int64_t>(done + i));
    }
  }
  return chosen;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> ReadSplit(ArrayStream array,
                                               std::string_view name,
                                               uint64_t num_nodes) {
  if (array.type() == NpyType::kBool || name.ends_with("_mask")) {
    return ReadMask(std::move(array), num_nodes);
  }
  const std::string described = Describe(array);
  FGNN_ASSIGN_OR_RETURN(std::vector<int64_t> ids, ReadIds(std::move(array)));
  std::vector<bool> seen(num_nodes);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<uint64_t>(ids[i]) >= num_nodes) continue;
    const auto vertex = static_cast<size_t>(ids[i]);
    if (seen[vertex]) {
      return absl::InvalidArgumentError(absl::StrCat(
          described, " and names vertex ", vertex, " again at element ", i,
          "; a list of vertices names each once, and save a mask as bool or "
          "under a name that ends with _mask"));
    }
    seen[vertex] = true;
  }
  return ids;
}

}  // namespace fgnn
