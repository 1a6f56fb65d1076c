#include "sampler_service/order/window_overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

// Nodes may come again within a batch. A window forgets the one before.
TEST(WindowOverlapTest, CountsWhatSetsOfNodesShare) {
  constexpr uint32_t kNumNodes = 500;
  FGNN_ASSERT_OK_AND_ASSIGN(WindowOverlap window,
                            WindowOverlap::Create(kNumNodes));
  reference::TestDraws draws(1);
  for (const uint32_t size : {64, 1, 0, 5, 64}) {
    std::vector<std::set<uint32_t>> sets(size);
    window.StartWindow();
    for (std::set<uint32_t>& set : sets) {
      window.StartBatch();
      for (uint64_t part = draws.Below(4); part > 0; --part) {
        std::vector<GlobalId> nodes(draws.Below(200));
        for (GlobalId& v : nodes) {
          v = static_cast<GlobalId>(draws.Below(kNumNodes));
        }
        window.Add(nodes);
        set.insert(nodes.begin(), nodes.end());
      }
    }
    const OverlapMatrix overlap = window.Count();
    ASSERT_EQ(overlap.size(), size);
    for (uint32_t a = 0; a < size; ++a) {
      for (uint32_t b = 0; b < size; ++b) {
        uint64_t shared = 0;
        for (const uint32_t v : sets[a]) shared += sets[b].count(v);
        EXPECT_EQ(overlap.Shared(a, b), shared) << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace fgnn
