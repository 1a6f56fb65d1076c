// Names the elements of a dataset's mapped arrays, for errors.
//
// Whoever may write a dataset may change it while it is mapped. So whatever is
// read of it is checked where it is used, after it was read, whoever validated
// the folder before.
#ifndef FGNN_SHARED_GRAPH_ARRAY_PLACES_H_
#define FGNN_SHARED_GRAPH_ARRAY_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "shared/graph/npy.h"

namespace fgnn {

// Immutable once it is filled; safe to read from any thread.
class ArrayPlaces {
 public:
  // Adds the array of the file at `path`, which is mapped.
  void Add(std::string path, const NpyArray& array);

  // Returns "PATH: element 17" for the element at an address; "" if no array
  // has it.
  std::string NameOf(const void* element) const;

 private:
  struct Array {
    std::string path;
    const std::byte* begin;
    size_t bytes;
    size_t element_bytes;
  };
  std::vector<Array> arrays_;
};

// Returns InvalidArgument for an element that a program has read and cannot
// use: "NAME is VALUE, REASON: …". The name is that of `places`, or else
// `otherwise`; `places` is null for arrays without files.
absl::Status ChangedElement(const ArrayPlaces* places, const void* element,
                            std::string_view otherwise, int64_t value,
                            std::string_view reason);

// Returns the same error without an element: "WHAT: …".
absl::Status ChangedDataset(std::string_view what);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_ARRAY_PLACES_H_
