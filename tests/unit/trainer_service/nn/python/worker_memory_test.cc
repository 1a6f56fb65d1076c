#include "trainer_service/nn/python/worker_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "shared/base/threads/futex.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

TEST(WorkerMemoryTest, ArraysKeepTheirNumbersWhenItGrows) {
  FGNN_ASSERT_OK_AND_ASSIGN(WorkerMemory memory, WorkerMemory::Make());
  ArrayPlaces places(WorkerMemory::first_place());
  const uint64_t first = places.Add(3 * sizeof(float));
  const uint64_t second = places.Add(40 << 20);
  EXPECT_EQ(second % 64, 0U);
  EXPECT_GE(second, first + 3 * sizeof(float));
  FGNN_ASSERT_OK(memory.Reserve(second));
  memory.at<float>(first)[2] = 7;
  FGNN_ASSERT_OK(memory.Reserve(places.end()));
  EXPECT_EQ(memory.at<float>(first)[2], 7);
  memory.at<char>(places.end())[-1] = 1;  // It is there.
}

TEST(WorkerMemoryTest, NobodyShrinksIt) {
  FGNN_ASSERT_OK_AND_ASSIGN(WorkerMemory memory, WorkerMemory::Make());
  EXPECT_NE(::ftruncate(memory.fd(), 4096), 0);
}

TEST(WorkerMemoryTest, AnAnswerComesAfterItsRequest) {
  FGNN_ASSERT_OK_AND_ASSIGN(WorkerMemory memory, WorkerMemory::Make());
  memory.Send("question");
  EXPECT_FALSE(memory.WaitForAnswer(DeadlineIn(std::chrono::milliseconds(1))));
  EXPECT_EQ(ReadCounter(memory.at<uint32_t>(0)), 1U);
  EXPECT_EQ(std::string(memory.at<char>(4096), *memory.at<uint32_t>(8)),
            "question");
  std::strcpy(memory.at<char>(4096), "yes");
  *memory.at<uint32_t>(8) = 3;
  AnnounceOn(memory.at<uint32_t>(4));
  EXPECT_TRUE(memory.WaitForAnswer(DeadlineIn(std::chrono::milliseconds(1))));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::string answer, memory.answer());
  EXPECT_EQ(answer, "yes");
  *memory.at<uint32_t>(8) = 1 << 30;
  EXPECT_THAT(memory.answer(), DataLoss("damaged"));
}

}  // namespace
}  // namespace fgnn
