#include "tools/bench/random_access.h"

#include <algorithm>
#include <limits>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/philox.h"
#include "shared/device/memory.h"

namespace fgnn {
namespace {

constexpr size_t kAccesses = 1 << 18;
constexpr size_t kAhead = 128;

// Returns as many places in every round, but different ones.
std::vector<uint64_t> RandomPlaces(uint64_t below, uint64_t round) {
  std::vector<uint64_t> places(kAccesses);
  for (size_t i = 0; i < kAccesses; ++i) {
    places[i] = UniformBelow(Mix64(round * kAccesses + i), below);
  }
  return places;
}

// Returns the accesses per second of the fastest round. access(place) is made
// for each place; address(place) is prefetched before.
template <typename Address, typename Access>
double FastestPerSecond(uint64_t size, uint32_t rounds, Address address,
                        Access access) {
  double fastest = std::numeric_limits<double>::infinity();
  for (uint32_t round = 0; round < rounds; ++round) {
    const std::vector<uint64_t> places = RandomPlaces(size, round);
    const Stopwatch watch;
    for (size_t i = 0; i + kAhead < kAccesses; ++i) {
      __builtin_prefetch(address(places[i + kAhead]));
      access(places[i]);
    }
    fastest = std::min(fastest, watch.Seconds());
  }
  return static_cast<double>(kAccesses - kAhead) / fastest;
}

}  // namespace

double RandomReadsPerSecond(const CscView& graph, uint32_t rounds) {
  if (graph.num_edges() == 0) return 0;
  return std::visit(
      [&](auto indices) {
        const auto* const data = indices.data();
        uint64_t sum = 0;
        const double rate = FastestPerSecond(
            graph.num_edges(), rounds, [data](uint64_t i) { return data + i; },
            [data, &sum](uint64_t i) {
              sum += static_cast<uint64_t>(data[i]);
            });
        // Keeps the compiler from removing the reads.
        asm volatile("" : : "r"(sum));
        return rate;
      },
      graph.indices);
}

absl::StatusOr<double> RandomUpdatesPerSecond(uint64_t table_bytes,
                                              uint32_t rounds) {
  const uint64_t size = std::max<uint64_t>(table_bytes / sizeof(uint32_t), 1);
  const TableMemory<uint32_t> table = AllocateTable<uint32_t>(size);
  if (table == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a table of ", table_bytes, " bytes"));
  }
  std::fill_n(table.get(), size, 1);  // Takes the table's pages.
  uint32_t* const data = table.get();
  const double rate = FastestPerSecond(
      size, rounds, [data](uint64_t i) { return data + i; },
      [data](uint64_t i) { data[i] = data[i] * 3 + 1; });
  asm volatile("" : : "r"(data) : "memory");
  return rate;
}

}  // namespace fgnn
