// A small dataset folder whose arrays are forged, and changed while programs
// have them mapped.
#ifndef FGNN_TESTS_FUZZ_CHANGING_CHANGING_DATASET_H_
#define FGNN_TESTS_FUZZ_CHANGING_CHANGING_DATASET_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "shared/graph/target_view.h"

namespace fgnn {

// What the vertices have.
enum class VertexLabels : uint8_t { kClasses, kNumbers, kSets };

inline constexpr uint32_t kChangingNodes = 100;
inline constexpr uint32_t kChangingClasses = 5;

class ChangingDataset {
 public:
  // Writes a sound dataset into `folder`.
  ChangingDataset(std::filesystem::path folder, VertexLabels labels);

  const std::filesystem::path& folder() const { return folder_; }

  // Writes a value that somebody may forge into an element of an array. The
  // file keeps its length.
  void Forge(std::mt19937_64& random) const;
  // Writes the arrays of the sound dataset, and removes what was derived.
  void Restore() const;

 private:
  struct Array {
    std::filesystem::path path;
    std::string sound;   // The file's bytes.
    uint64_t begin = 0;  // Offset of the first element.
    uint64_t element_bytes = 0;
  };

  void WriteGraph() const;
  void WriteVertices(VertexLabels labels) const;
  void ReadArrays();

  const std::filesystem::path folder_;
  std::vector<Array> arrays_;
};

// Forges the dataset on a thread of its own, until it is destroyed.
class Changer {
 public:
  Changer(const ChangingDataset* dataset, uint64_t seed);
  ~Changer();

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FUZZ_CHANGING_CHANGING_DATASET_H_
