// Damages a source as a mistake, a broken disk or an attacker could.
#ifndef FGNN_TESTS_FUZZ_IMPORTERS_MUTATION_H_
#define FGNN_TESTS_FUZZ_IMPORTERS_MUTATION_H_

#include <cstdint>
#include <filesystem>
#include <random>
#include <vector>

#include "tests/fuzz/importers/sound_sources.h"

namespace fgnn {

// Random choices of one case. They are the same whenever the case runs again.
class Choices {
 public:
  Choices(uint64_t seed, uint64_t case_number)
      : random_(seed * 0x9E3779B97F4A7C15 + case_number) {}

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <typename List>
  const auto& From(const List& list) {
    return *std::next(list.begin(),
                      static_cast<std::ptrdiff_t>(Below(list.size())));
  }

 private:
  std::mt19937_64 random_;
};

// Changes bytes, numbers, sizes, shapes or lengths of some files, or swaps
// files with others of `all`.
void MutateSource(const std::vector<ImportSource>& all, Choices& choices,
                  ImportSource* source);

// Changes one of the written files: its bytes on the disk, or the kind of the
// file.
void MutateWritten(const std::filesystem::path& folder, Choices& choices);

}  // namespace fgnn

#endif  // FGNN_TESTS_FUZZ_IMPORTERS_MUTATION_H_
