// The classes, or targets, of a model in the numbering of a dataset.
#ifndef FGNN_TRAINER_SERVICE_INFER_TABLES_CLASS_MAP_H_
#define FGNN_TRAINER_SERVICE_INFER_TABLES_CLASS_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

// Words of messages for what is mapped.
struct MappedWords {
  const char* one;
  const char* many;
  const char* are_found;   // How they are found by their names.
  const char* if_missing;  // What it means that the dataset has some not.
};
inline constexpr MappedWords kClassWords = {
    "class", "classes", "are numbered as in", "whose vertices get class -1"};
// The classes of label sets, and the targets of regression: columns.
inline constexpr MappedWords kSetWords = {"class", "classes", "are found in",
                                          "of which it states nothing"};
inline constexpr MappedWords kTargetWords = {
    "target", "targets", "are found in", "of which it states nothing"};

// Classes or targets with their names, of which some or all may be missing.
struct NamedClasses {
  uint32_t count = 0;
  std::vector<std::string> names;  // At most `count`; see DatasetNames.
  std::string what;                // Whose they are, for messages.
  std::string names_file;          // File that its names may be written to.
};

// `numbers` and `names` are [classes of the model].
struct ClassMap {
  // Number of the class in the dataset; -1: the dataset has no such class.
  std::vector<int64_t> numbers;
  std::vector<std::string> names;  // Empty: it has none.
  // Names in the dataset's numbering, [classes of the dataset] or empty.
  std::vector<std::string> label_names;
  // Whether both have names, so that the classes were found by them.
  bool by_name = false;
  // What a user should know of the numbering, in one line; empty: nothing.
  std::string notice;
};

// Numbers the model's classes, or targets, as the dataset does: by their names.
// A dataset without any takes the model's numbering, as does one of as many
// classes if not both have names.
//   InvalidArgument  not both have names and they differ in the number of
//                    classes, or they have no name in common. The message says
//                    what to do.
absl::StatusOr<ClassMap> MapClasses(const NamedClasses& model,
                                    const NamedClasses& dataset,
                                    const MappedWords& words = kClassWords);

// InvalidArgument: both the model's and the dataset's feature columns have
// names, and these differ. `dataset` is its folder, for the message.
absl::Status CheckFeatureNames(const std::vector<std::string>& model_names,
                               const std::vector<std::string>& dataset_names,
                               const std::string& dataset);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_TABLES_CLASS_MAP_H_
