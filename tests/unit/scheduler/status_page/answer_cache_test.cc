#include "scheduler/status_page/answer_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace fgnn {
namespace {

using std::chrono::milliseconds;

class AnswerCacheTest : public testing::Test {
 protected:
  // Asks; an answer takes `cost` to make.
  std::string Get(const std::string& key, milliseconds cost = milliseconds(1)) {
    return cache_
        .Get(key,
             [&]() -> HttpResponse {
               now_ += cost;
               ++num_made_;
               return {.status = 200, .content_type = "", .body = key};
             })
        .body;
  }

  Deadline now_ = Deadline() + std::chrono::hours(1);
  int num_made_ = 0;
  AnswerCache cache_{/*most_answers=*/2, [this] { return now_; }};
};

TEST_F(AnswerCacheTest, ManyViewersCostOneAnswerASecond) {
  for (int viewer = 0; viewer < 20; ++viewer) EXPECT_EQ(Get("a"), "a");
  EXPECT_EQ(num_made_, 1);
  now_ += milliseconds(1'000);
  for (int viewer = 0; viewer < 20; ++viewer) EXPECT_EQ(Get("a"), "a");
  EXPECT_EQ(num_made_, 2);
}

TEST_F(AnswerCacheTest, AnAnswerThatTookLongIsKeptLonger) {
  Get("a", milliseconds(100));
  now_ += milliseconds(4'900);
  Get("a");
  EXPECT_EQ(num_made_, 1);
  now_ += milliseconds(200);
  Get("a");
  EXPECT_EQ(num_made_, 2);
}

TEST_F(AnswerCacheTest, KeepsNoMoreThanItMay) {
  Get("a");
  Get("b");
  Get("c");
  EXPECT_EQ(num_made_, 3);
  Get("b");
  Get("c");
  EXPECT_EQ(num_made_, 3);
  Get("a");
  EXPECT_EQ(num_made_, 4);
}

}  // namespace
}  // namespace fgnn
