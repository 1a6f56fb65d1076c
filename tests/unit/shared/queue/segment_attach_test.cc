// A segment of a stranger is attached only if it is what it says.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <vector>

#include "shared/base/crc32c.h"
#include "shared/queue/message_board.h"
#include "shared/queue/segment.h"
#include "shared/queue/segment_layout.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

// What a stranger may hand to Attach().
class Forgery {
 public:
  explicit Forgery(const SegmentOptions& options) {
    const std::unique_ptr<Segment> segment = MakeSegment(options);
    bytes_.resize(segment->total_bytes());
    EXPECT_EQ(::pread(segment->fd(), bytes_.data(), bytes_.size(), 0),
              static_cast<ssize_t>(bytes_.size()));
  }
  SegmentHeader* header() {
    return reinterpret_cast<SegmentHeader*>(bytes_.data());
  }
  void Sign() {
    header()->header_crc = 0;
    header()->header_crc = ExtendCrc32c(0, header(), sizeof(SegmentHeader));
  }
  void Resize(size_t bytes) { bytes_.resize(bytes); }
  UniqueFd Make(unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) {
    UniqueFd fd(::memfd_create("forgery", MFD_ALLOW_SEALING));
    EXPECT_EQ(::write(fd.get(), bytes_.data(), bytes_.size()),
              static_cast<ssize_t>(bytes_.size()));
    if (seals != 0) {
      EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    }
    return fd;
  }

 private:
  std::vector<char> bytes_;
};

TEST(SegmentAttachTest, OptionsOutOfRangeAreRefusedByName) {
  struct Wrong {
    const char* field;
    std::function<void(SegmentOptions*)> change;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {"num_slots", [](SegmentOptions* o) { o->num_slots = 0; }},
           {"num_slots", [](SegmentOptions* o) { o->num_slots = 4097; }},
           {"slot_bytes",
            [](SegmentOptions* o) { o->slot_bytes = sizeof(TaskHeader) - 1; }},
           {"slot_bytes",
            [](SegmentOptions* o) { o->slot_bytes = ~uint64_t{0}; }},
           {"num_overflow_blocks",
            [](SegmentOptions* o) { o->num_overflow_blocks = 256; }},
           {"overflow_bytes", [](SegmentOptions* o) { o->overflow_bytes = 0; }},
           {"batches_per_epoch",
            [](SegmentOptions* o) { o->batches_per_epoch = 0; }},
           {"epochs", [](SegmentOptions* o) { o->epochs = 0; }},
           {"epochs", [](SegmentOptions* o) { o->epochs = uint64_t{1} << 47; }},
           {"batches_per_step",
            [](SegmentOptions* o) { o->batches_per_step = 0; }},
           {"batches_per_step",
            [](SegmentOptions* o) { o->batches_per_step = 1025; }},
           {"parts", [](SegmentOptions* o) { o->parts = 0; }},
           {"parts", [](SegmentOptions* o) { o->parts = 17; }},
           {"num_slots is 4, must be a multiple of the 3 parts",
            [](SegmentOptions* o) { o->parts = 3; }},
           {"num_slots is 4, must be a multiple of the 4 parts of a batch, and "
            "room for two",
            [](SegmentOptions* o) { o->parts = 4; }},
           {"num_overflow_blocks",
            [](SegmentOptions* o) {
              o->parts = 2;
              o->num_overflow_blocks = 511;
            }},
           {"num_messages", [](SegmentOptions* o) { o->num_messages = 1; }},
           {"message_bytes", [](SegmentOptions* o) { o->message_bytes = 1; }},
           {"num_messages",
            [](SegmentOptions* o) {
              o->parts = 2;
              o->num_messages = 257;
            }},
           {"message_bytes",
            [](SegmentOptions* o) {
              o->parts = 2;
              o->message_bytes = 64;
            }},
           {"message_bytes",
            [](SegmentOptions* o) {
              o->parts = 2;
              o->num_messages = 1;
              o->message_bytes = ~uint64_t{0};
            }},
           {"message_bytes",
            [](SegmentOptions* o) {
              o->parts = 2;
              o->num_messages = 1;
              o->message_bytes = kMostMessageBytes / o->batches_per_step + 1;
            }},
           {"staleness",
            [](SegmentOptions* o) {
              o->parts = 2;
              o->num_messages = 1;
              o->staleness = 1;
            }},
           {"num_hosts", [](SegmentOptions* o) { o->num_hosts = 0; }},
           {"num_hosts", [](SegmentOptions* o) { o->num_hosts = 65; }},
           {"places_before", [](SegmentOptions* o) { o->places_before = 1; }},
           {"places_before",
            [](SegmentOptions* o) {
              o->num_hosts = 2;
              o->places_before = o->batches_per_step + uint64_t{1};
            }},
           {"places_after",
            [](SegmentOptions* o) {
              o->num_hosts = 2;
              o->places_before = 1;
              o->places_after = o->batches_per_step;
            }},
           {"num_parameters",
            [](SegmentOptions* o) { o->num_parameters = uint64_t{1} << 60; }},
           {"optimizer_floats_per_parameter", [](SegmentOptions* o) {
              o->optimizer_floats_per_parameter = 17;
            }}}) {
    SegmentOptions options = SmallOptions();
    EXPECT_THAT(ValidateOptions(options), IsOk());
    wrong.change(&options);
    EXPECT_THAT(Segment::Create(options), InvalidArgument(wrong.field));
    // The same out of a segment's header.
    Forgery forgery(SmallOptions());
    forgery.header()->options = options;
    forgery.Sign();
    EXPECT_THAT(Segment::Attach(forgery.Make(), kTestJob),
                InvalidArgument(wrong.field));
  }
}

TEST(SegmentAttachTest, AcceptsAsManyPartsAsFitTwice) {
  SegmentOptions options = SmallOptions();
  options.parts = 16;
  options.num_slots = 32;
  options.num_overflow_blocks = 16 * kMaxOwners;
  options.overflow_bytes = sizeof(TaskHeader);
  options.num_messages = 256;
  options.message_bytes = 1000;
  EXPECT_THAT(ValidateOptions(options), IsOk());
  options.num_messages = 0;
  options.message_bytes = 0;
  options.staleness = 2;
  EXPECT_THAT(ValidateOptions(options), IsOk());
}

TEST(SegmentAttachTest, AcceptsAnHonestCopy) {
  EXPECT_THAT(Segment::Attach(Forgery(SmallOptions()).Make(), kTestJob),
              IsOk());
}

TEST(SegmentAttachTest, RefusesWhatIsNotSealed) {
  Forgery forgery(SmallOptions());
  for (const unsigned seals : {0, F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_GROW,
                               F_SEAL_GROW | F_SEAL_SEAL}) {
    EXPECT_THAT(Segment::Attach(forgery.Make(seals), kTestJob),
                InvalidArgument("sealed"));
  }
  EXPECT_THAT(Segment::Attach(UniqueFd(), kTestJob), InvalidArgument());
  EXPECT_THAT(Segment::Attach(UniqueFd(::open("/dev/zero", O_RDWR)), kTestJob),
              InvalidArgument());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd write_end(ends[1]);
  EXPECT_THAT(Segment::Attach(UniqueFd(ends[0]), kTestJob), InvalidArgument());
}

TEST(SegmentAttachTest, RefusesWhatIsTruncatedOrTooLong) {
  const uint64_t bytes = SegmentBytes(SmallOptions());
  for (const uint64_t wrong :
       {uint64_t{0}, uint64_t{1}, sizeof(SegmentHeader) - 1,
        sizeof(SegmentHeader), bytes - 4096, bytes - 1, bytes + 1, 2 * bytes}) {
    Forgery forgery(SmallOptions());
    forgery.Resize(wrong);
    EXPECT_THAT(Segment::Attach(forgery.Make(), kTestJob), InvalidArgument())
        << wrong << " bytes";
  }
}

TEST(SegmentAttachTest, RefusesOtherJobsVersionsAndSizes) {
  struct Change {
    const char* reason;
    std::function<void(SegmentHeader*)> change;
  };
  for (const Change& change : std::vector<Change>{
           {"magic", [](SegmentHeader* h) { h->magic ^= 1; }},
           {"version", [](SegmentHeader* h) { h->layout_version += 1; }},
           {"another job", [](SegmentHeader* h) { h->options.job_key += 1; }},
           {"add up", [](SegmentHeader* h) { h->total_bytes += 4096; }},
           {"add up", [](SegmentHeader* h) { h->options.num_slots += 8; }},
           {"add up",
            [](SegmentHeader* h) { h->options.num_parameters += 4096; }},
           {"add up",
            [](SegmentHeader* h) { h->options.batches_per_epoch = 1 << 20; }},
           {"add up", [](SegmentHeader* h) {
              h->options.num_parameters = uint64_t{1} << 38;
            }}}) {
    Forgery forgery(SmallOptions());
    change.change(forgery.header());
    forgery.Sign();
    EXPECT_THAT(Segment::Attach(forgery.Make(), kTestJob),
                InvalidArgument(change.reason));
  }
}

TEST(SegmentAttachTest, NoticesEveryFlippedBitOfTheHeader) {
  Forgery forgery(SmallOptions());
  auto* bytes = reinterpret_cast<unsigned char*>(forgery.header());
  for (size_t byte = 0; byte < sizeof(SegmentHeader); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[byte] ^= static_cast<unsigned char>(1 << bit);
      EXPECT_THAT(Segment::Attach(forgery.Make(), kTestJob), InvalidArgument());
      bytes[byte] ^= static_cast<unsigned char>(1 << bit);
    }
  }
}

}  // namespace
}  // namespace fgnn
