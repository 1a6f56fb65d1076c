// Arrays of text, as NumPy keeps them: names of classes, labels.
#ifndef FGNN_TOOLS_DATASET_READING_TEXT_ARRAY_H_
#define FGNN_TOOLS_DATASET_READING_TEXT_ARRAY_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fgnn {

// Returns true for an .npy file of text, type "<U…" or "|S…". Returns false for
// any other file.
bool IsTextArray(const std::filesystem::path& path);

// Reads a list of texts, in UTF-8. InvalidArgument: not an .npy file of text,
// or not a list; or an element is not text. DataLoss: the file ends too early.
absl::StatusOr<std::vector<std::string>> ReadTextArray(
    const std::filesystem::path& path);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_TEXT_ARRAY_H_
