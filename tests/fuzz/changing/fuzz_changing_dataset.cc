// Forges datasets, and changes them while jobs use them. Built with
// AddressSanitizer, it finds each read and write outside of an array.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "shared/telemetry/log.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fuzz/changing/changing_dataset.h"
#include "tests/fuzz/changing/dataset_users.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

struct Flags {
  uint64_t count = 300;
  uint64_t seconds = 60;  // Ends the program earlier, but not before a round.
  uint64_t seed = 1;
};

Flags FlagsOf(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i + 1 < argc; i += 2) {
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--count") == 0) flags.count = value;
    if (std::strcmp(argv[i], "--seconds") == 0) flags.seconds = value;
    if (std::strcmp(argv[i], "--seed") == 0) flags.seed = value;
  }
  return flags;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace fgnn;
  constexpr VertexLabels kAllLabels[] = {
      VertexLabels::kClasses, VertexLabels::kNumbers, VertexLabels::kSets};
  const Flags flags = FlagsOf(argc, argv);
  const TempFolder temp;
  std::unique_ptr<ChangingDataset> datasets[3];
  for (size_t i = 0; i < 3; ++i) {
    datasets[i] = std::make_unique<ChangingDataset>(
        temp.path() / std::to_string(i), kAllLabels[i]);
  }
  UsesByName sound;
  UsesByName uses;
  for (size_t i = 0; i < 6; ++i) {
    UseDataset(datasets[i % 3]->folder(), kAllLabels[i % 3], i, &sound);
  }
  for (const auto& [name, counts] : sound) {
    Require(counts.refused == 0,
            (name + ", a sound dataset: " + counts.last_refusal).c_str());
  }
  const auto begin = std::chrono::steady_clock::now();
  uint64_t round = 0;
  for (; round < flags.count; ++round) {
    if (std::chrono::steady_clock::now() - begin >
        std::chrono::seconds(flags.seconds)) {
      break;
    }
    std::mt19937_64 random(flags.seed * 1'000'003 + round);
    const size_t which = random() % 3;
    const ChangingDataset& dataset = *datasets[which];
    const bool changes = round % 2 == 1;
    for (uint64_t left = random() % 3 + (changes ? 0 : 1); left > 0; --left) {
      dataset.Forge(random);
    }
    {
      std::optional<Changer> changer;
      if (changes) changer.emplace(&dataset, random());
      UseDataset(dataset.folder(), kAllLabels[which], random(), &uses);
    }
    dataset.Restore();
  }
  std::printf("%llu datasets\n", static_cast<unsigned long long>(round));
  for (const auto& [name, counts] : uses) {
    std::printf("%-10s %8llu well, %8llu refused; the last: %s\n", name.c_str(),
                static_cast<unsigned long long>(counts.well),
                static_cast<unsigned long long>(counts.refused),
                counts.last_refusal.c_str());
  }
  return 0;
}
