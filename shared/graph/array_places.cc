#include "shared/graph/array_places.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace fgnn {

void ArrayPlaces::Add(std::string path, const NpyArray& array) {
  if (array.data() == nullptr) return;
  const size_t element_bytes = BytesOf(array.header().type);
  arrays_.push_back({std::move(path), array.data(),
                     array.header().num_elements() * element_bytes,
                     element_bytes});
}

std::string ArrayPlaces::NameOf(const void* element) const {
  const auto* const at = static_cast<const std::byte*>(element);
  // Pointers into different arrays are ordered by std::less alone.
  const std::less<const std::byte*> is_before;
  for (const Array& array : arrays_) {
    if (is_before(at, array.begin) ||
        !is_before(at, array.begin + array.bytes)) {
      continue;
    }
    return absl::StrCat(
        array.path, ": element ",
        static_cast<size_t>(at - array.begin) / array.element_bytes);
  }
  return "";
}

absl::Status ChangedElement(const ArrayPlaces* places, const void* element,
                            std::string_view otherwise, int64_t value,
                            std::string_view reason) {
  std::string name = places == nullptr ? "" : places->NameOf(element);
  if (name.empty()) name = std::string(otherwise);
  return ChangedDataset(
      absl::StrCat(name, " is ", value, ", ", std::string(reason)));
}

absl::Status ChangedDataset(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(what),
                   ": the dataset changed while it was used, or is damaged; "
                   "look at it with 'fgnn dataset validate'"));
}

}  // namespace fgnn
