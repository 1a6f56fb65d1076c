#include "tools/python/native/c_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/unit/sampler_service/daemon/small_job.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

constexpr int kInvalidArgument = 3;
constexpr int kDeadlineExceeded = 4;
constexpr uint32_t kLongMilliseconds = 120'000;

class CApiTest : public testing::Test {
 protected:
  nlohmann::json Request(uint32_t threads) const {
    const JobSpec spec = job_.spec();
    const nlohmann::json sampling = {{"fanouts", spec.sampling.fanouts},
                                     {"batch_size", spec.sampling.batch_size},
                                     {"resample", spec.sampling.resample}};
    const nlohmann::json job = {
        {"dataset", spec.dataset},
        {"sampling", sampling},
        {"model", {{"layers", spec.sampling.fanouts.size()}}},
        {"training", {{"seed", spec.training.seed}}}};
    return {{"job", job.dump()},   {"split", "train"},
            {"shuffle", true},     {"reads_features", true},
            {"lists_edges", true}, {"state_dir", ""},
            {"threads", threads},  {"ahead", 3},
            {"rank", 0},           {"world", 1},
            {"drops_last", true}};
  }
  static fgnn_loader* Open(const nlohmann::json& request) {
    fgnn_loader* loader = nullptr;
    EXPECT_EQ(fgnn_loader_open(request.dump().c_str(), nullptr, 0, &loader), 0)
        << fgnn_loader_error();
    return loader;
  }

  const SmallJob job_;
};

TEST_F(CApiTest, BatchesAreThoseOfTheService) {
  EXPECT_EQ(fgnn_loader_interface(), FGNN_LOADER_INTERFACE);
  for (const uint32_t threads : {1, 3}) {
    fgnn_loader* const loader = Open(Request(threads));
    const auto facts = nlohmann::json::parse(fgnn_loader_facts(loader));
    EXPECT_EQ(facts["num_nodes"], 1000);
    EXPECT_EQ(facts["batches_per_epoch"], job_.batches_per_epoch());
    uint64_t num_batches = 0;
    ASSERT_EQ(fgnn_loader_seek(loader, 0, &num_batches), 0);
    EXPECT_EQ(num_batches, job_.batches_per_epoch());
    for (uint64_t seq = 0; seq < job_.num_batches(); ++seq) {
      fgnn_batch* batch = nullptr;
      fgnn_batch_view view;
      ASSERT_EQ(fgnn_loader_next(loader, kLongMilliseconds, &batch, &view), 0);
      EXPECT_EQ(view.seq, seq);
      EXPECT_EQ(view.digest, job_.digests()[seq]);
      EXPECT_EQ(view.num_edges, view.hops[view.num_hops - 1].num_edges);
      EXPECT_EQ(view.num_nodes, view.hops[view.num_hops - 1].num_sources);
      EXPECT_EQ(view.features, nullptr);
      ASSERT_NE(view.labels, nullptr);
      fgnn_loader_release(batch);
    }
    fgnn_loader_close(loader);
  }
}

TEST_F(CApiTest, ABatchOutlivesItsLoader) {
  fgnn_loader* const loader = Open(Request(2));
  uint64_t num_batches = 0;
  ASSERT_EQ(fgnn_loader_seek(loader, 4, &num_batches), 0);
  std::vector<fgnn_batch*> batches(3);
  std::vector<fgnn_batch_view> views(3);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(
        fgnn_loader_next(loader, kLongMilliseconds, &batches[i], &views[i]), 0);
  }
  fgnn_loader_close(loader);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(views[i].seq, 4 + i);
    for (uint64_t v = 0; v < views[i].num_nodes; ++v) {
      EXPECT_LT(views[i].nodes[v], 1000);
    }
    for (uint64_t e = 0; e < 2 * views[i].num_edges; ++e) {
      EXPECT_LT(views[i].edges[e], static_cast<int64_t>(views[i].num_nodes));
    }
    fgnn_loader_release(batches[i]);
  }
}

TEST_F(CApiTest, ErrorsAreOneLineOfTheThread) {
  fgnn_loader* loader = nullptr;
  nlohmann::json request = Request(1);
  request["split"] = "none";
  EXPECT_EQ(fgnn_loader_open(request.dump().c_str(), nullptr, 0, &loader),
            kInvalidArgument);
  EXPECT_THAT(fgnn_loader_error(), HasSubstr("it is train, valid or test"));
  request = Request(1);
  request["job"] = R"({"sampling": {"fanout": 3}})";
  EXPECT_EQ(fgnn_loader_open(request.dump().c_str(), nullptr, 0, &loader),
            kInvalidArgument);
  EXPECT_THAT(fgnn_loader_error(), HasSubstr("did you mean 'fanouts'"));
  // What throws is an error, too.
  EXPECT_NE(fgnn_loader_open("{", nullptr, 0, &loader), 0);
  EXPECT_NE(std::string(fgnn_loader_error()), "");
  EXPECT_EQ(loader, nullptr);
}

TEST_F(CApiTest, AWaitEnds) {
  fgnn_loader* const loader = Open(Request(1));
  fgnn_batch* batch = nullptr;
  fgnn_batch_view view;
  // Nothing is made before the first seek.
  EXPECT_EQ(fgnn_loader_next(loader, 1, &batch, &view), kDeadlineExceeded);
  EXPECT_EQ(batch, nullptr);
  fgnn_loader_close(loader);
}

}  // namespace
}  // namespace fgnn
