#include "trainer_service/infer/tables/class_map.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fgnn {
namespace {

constexpr size_t kMostNamed = 5;

bool HasNames(const NamedClasses& classes) {
  return std::any_of(classes.names.begin(), classes.names.end(),
                     [](const std::string& name) { return !name.empty(); });
}

// Returns "a, b, …".
std::string FirstOf(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNamed);
  return absl::StrCat(
      absl::StrJoin(names.begin(),
                    names.begin() + static_cast<ptrdiff_t>(shown), ", "),
      shown < names.size() ? ", …" : "");
}

std::string WithoutNames(const NamedClasses& model,
                         const NamedClasses& dataset) {
  if (HasNames(model)) return absl::StrCat(dataset.what, " has no names");
  if (HasNames(dataset)) return absl::StrCat(model.what, " has no names");
  return "neither has names";
}

absl::Status CountsDiffer(const NamedClasses& model,
                          const NamedClasses& dataset,
                          const MappedWords& words) {
  std::vector<std::string> files;
  for (const NamedClasses* classes : {&model, &dataset}) {
    if (!HasNames(*classes)) files.push_back(classes->names_file);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      model.what, " has ", model.count, " ", words.many, " and ", dataset.what,
      " ", dataset.count, ", and ", WithoutNames(model, dataset),
      ": their numbers may mean other ", words.many,
      "; write the names, a line for each ", words.one, ", to ",
      absl::StrJoin(files, " and ")));
}

// Keeps the model's numbering. One of the two may have names.
ClassMap SameNumbers(const NamedClasses& model, const NamedClasses& dataset,
                     const MappedWords& words) {
  ClassMap map;
  map.numbers.resize(model.count);
  std::iota(map.numbers.begin(), map.numbers.end(), int64_t{0});
  map.names = HasNames(model) ? model.names : dataset.names;
  map.names.resize(model.count);
  map.label_names = map.names;
  map.by_name = HasNames(model) && HasNames(dataset);
  if (dataset.count > 0 && HasNames(model) != HasNames(dataset)) {
    map.notice =
        absl::StrCat(WithoutNames(model, dataset), " of its ", words.many,
                     ": they are taken to be numbered as those of ",
                     HasNames(model) ? model.what : dataset.what);
  }
  return map;
}

std::string NoticeOf(const ClassMap& map, const NamedClasses& dataset,
                     const MappedWords& words) {
  std::vector<std::string> missing;
  for (size_t c = 0; c < map.numbers.size(); ++c) {
    if (map.numbers[c] >= 0) continue;
    missing.push_back(map.names[c].empty() ? absl::StrCat(c) : map.names[c]);
  }
  std::string notice = absl::StrCat(words.many, " ", words.are_found, " ",
                                    dataset.what, ", by name");
  if (!missing.empty()) {
    absl::StrAppend(&notice, "; it has not ", missing.size(), " of the ",
                    map.numbers.size(), " ", words.many, " of the model (",
                    FirstOf(missing), "), ", words.if_missing);
  }
  return notice;
}

}  // namespace

absl::StatusOr<ClassMap> MapClasses(const NamedClasses& model,
                                    const NamedClasses& dataset,
                                    const MappedWords& words) {
  if (dataset.count == 0) return SameNumbers(model, dataset, words);
  if (!HasNames(model) || !HasNames(dataset)) {
    if (model.count != dataset.count) {
      return CountsDiffer(model, dataset, words);
    }
    return SameNumbers(model, dataset, words);
  }
  if (model.count == dataset.count && model.names == dataset.names) {
    return SameNumbers(model, dataset, words);
  }
  std::unordered_map<std::string_view, int64_t> number_of;
  for (size_t c = 0; c < dataset.names.size(); ++c) {
    if (!dataset.names[c].empty()) {
      number_of.emplace(dataset.names[c], static_cast<int64_t>(c));
    }
  }
  ClassMap map;
  map.names = model.names;
  map.names.resize(model.count);
  map.label_names = dataset.names;
  map.by_name = true;
  map.numbers.assign(model.count, -1);
  size_t found = 0;
  for (size_t c = 0; c < map.names.size(); ++c) {
    const auto number = number_of.find(map.names[c]);
    if (number == number_of.end()) continue;
    map.numbers[c] = number->second;
    ++found;
  }
  if (found == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("no ", words.one, " of ", model.what, " (",
                     FirstOf(model.names), ") is a ", words.one, " of ",
                     dataset.what, " (", FirstOf(dataset.names), "); name the ",
                     words.many, " alike in ", dataset.names_file));
  }
  map.notice = NoticeOf(map, dataset, words);
  return map;
}

absl::Status CheckFeatureNames(const std::vector<std::string>& model_names,
                               const std::vector<std::string>& dataset_names,
                               const std::string& dataset) {
  if (model_names.empty() || dataset_names.empty()) return absl::OkStatus();
  const auto [in_model, in_dataset] =
      std::mismatch(model_names.begin(), model_names.end(),
                    dataset_names.begin(), dataset_names.end());
  if (in_model == model_names.end() && in_dataset == dataset_names.end()) {
    return absl::OkStatus();
  }
  const auto name_of = [](const std::vector<std::string>& names, auto place) {
    return place == names.end() ? std::string("nothing")
                                : absl::StrCat("'", *place, "'");
  };
  return absl::InvalidArgumentError(absl::StrCat(
      "feature column ", in_model - model_names.begin(), " of ", dataset,
      " is ", name_of(dataset_names, in_dataset), ", where the model has ",
      name_of(model_names, in_model),
      "; import the columns in the model's order with --feature-columns"));
}

}  // namespace fgnn
