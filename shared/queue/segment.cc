#include "shared/queue/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/device.h"
#include "shared/device/memory.h"
#include "shared/minibatch/task.h"
#include "shared/queue/message_board.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"

namespace fgnn {
namespace {

namespace bip = boost::interprocess;

constexpr uint32_t kMaxSlots = 4096;
constexpr uint32_t kMaxBatchesPerStep = 1024;
constexpr uint32_t kMaxStaleness = 1024;
constexpr uint32_t kMaxOptimizerFloats = 16;
constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 42;
constexpr uint64_t kMaxMessages = 256;
constexpr uint64_t kMaxParameters = uint64_t{1} << 38;
constexpr uint64_t kAllocationBytes = uint64_t{256} << 20;
// With these seals no process that has the descriptor can change the size. So
// no access within SegmentBytes(), which are allocated, can end in SIGBUS.
// Pages beyond come as they are touched: without memory left, the kernel kills.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// A descriptor with the interface that Boost needs to map a file.
class MappableDescriptor {
 public:
  explicit MappableDescriptor(int fd) : fd_(fd) {}
  bip::mapping_handle_t get_mapping_handle() const {
    return {.handle = fd_, .is_xsi = false};
  }

 private:
  int fd_;
};

absl::Status CheckRange(const char* field, uint64_t value, uint64_t lowest,
                        uint64_t highest) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("segment option ", field, " is ", value, ", must be in [",
                   lowest, ", ", highest, "]"));
}

// Checks the options of batches with parts, once each is in its own range.
absl::Status CheckParts(const SegmentOptions& options) {
  const uint64_t parts = options.parts;
  if (parts == 1) {
    FGNN_RETURN_IF_ERROR(
        CheckRange("num_messages", options.num_messages, 0, 0));
    return CheckRange("message_bytes", options.message_bytes, 0, 0);
  }
  if (options.num_slots % parts != 0 || options.num_slots < 2 * parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment option num_slots is ", options.num_slots,
                     ", must be a multiple of the ", parts,
                     " parts of a batch, and room for two batches or more"));
  }
  FGNN_RETURN_IF_ERROR(
      CheckRange("num_messages", options.num_messages, 0, kMaxMessages));
  FGNN_RETURN_IF_ERROR(CheckRange(
      "message_bytes", options.message_bytes, 0,
      options.num_messages > 0 ? kMostMessageBytes / options.batches_per_step
                               : 0));
  // Messages belong to one version of the weights, and the board has places for
  // the batches of one step.
  return CheckRange("staleness", options.staleness, 0,
                    options.num_messages > 0 ? 0 : kMaxStaleness);
}

uint32_t HeaderCrc(const SegmentHeader& header) {
  SegmentHeader copy = header;
  copy.header_crc = 0;
  return ExtendCrc32c(0, &copy, sizeof(copy));
}

SegmentHeader HeaderOf(const SegmentOptions& options) {
  SegmentHeader header = {.magic = kSegmentMagic,
                          .layout_version = kSegmentLayoutVersion,
                          .header_crc = 0,
                          .total_bytes = SegmentLayout::Of(options).total_bytes,
                          .options = options};
  header.header_crc = HeaderCrc(header);
  return header;
}

// Returns ResourceExhausted if the memory is not there. The segment asks before
// it allocates: beyond a cgroup's limit the kernel kills the process instead of
// returning an error.
absl::Status CheckHeadroom(uint64_t needed_bytes) {
  FGNN_ASSIGN_OR_RETURN(const uint64_t available_bytes, AvailableMemoryBytes());
  if (needed_bytes <= available_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "segment for the global queue: needs ", FormatBytes(needed_bytes), ", ",
      FormatBytes(available_bytes),
      " available; lower queue.slots or sampling.batch_size"));
}

// Allocates the pages of the file. ftruncate() would only promise them, and a
// process that touches a missing page is killed. The file is allocated in
// pieces, since a signal undoes the piece that it interrupts.
absl::Status AllocatePages(int fd, uint64_t total_bytes) {
  uint64_t done_bytes = 0;
  while (done_bytes < total_bytes) {
    const uint64_t piece = std::min(kAllocationBytes, total_bytes - done_bytes);
    const int error = ::posix_fallocate(fd, static_cast<off_t>(done_bytes),
                                        static_cast<off_t>(piece));
    if (error == 0) {
      done_bytes += piece;
    } else if (error != EINTR) {
      return ErrnoToStatus(error, "posix_fallocate");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> AllocateSealed(const SegmentHeader& header) {
  const uint64_t bytes = SegmentBytes(header.options);
  const std::string what =
      absl::StrCat("allocate segment of ", FormatBytes(bytes));
  UniqueFd fd(::memfd_create("fgnn-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoToStatus(errno, what);
  FGNN_RETURN_IF_ERROR(Annotate(AllocatePages(fd.get(), bytes), what));
  // Messages have far fewer bytes than their bound, and few parts of batches
  // lie in overflow blocks. So their pages come as they are touched.
  if (::ftruncate(fd.get(), static_cast<off_t>(header.total_bytes)) != 0) {
    return ErrnoToStatus(errno, what);
  }
  if (::pwrite(fd.get(), &header, sizeof(header), 0) !=
      static_cast<ssize_t>(sizeof(header))) {
    return ErrnoToStatus(errno, what);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return ErrnoToStatus(errno, what);
  }
  return fd;
}

absl::Status CheckSealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    return absl::InvalidArgumentError(
        "segment is not a memfd sealed against changes of its size");
  }
  return absl::OkStatus();
}

// Reads the header once. Its values are not read from the file again.
absl::StatusOr<SegmentHeader> ReadHeader(int fd) {
  SegmentHeader header;
  if (::pread(fd, &header, sizeof(header), 0) !=
      static_cast<ssize_t>(sizeof(header))) {
    return absl::InvalidArgumentError("segment is too small for its header");
  }
  if (header.magic != kSegmentMagic) {
    return absl::InvalidArgumentError("segment is none of FGNN's: wrong magic");
  }
  if (header.layout_version != kSegmentLayoutVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "segment has layout version ", header.layout_version, ", this program ",
        kSegmentLayoutVersion, "; run daemons of the scheduler's version"));
  }
  if (header.header_crc != HeaderCrc(header)) {
    return absl::InvalidArgumentError(
        "segment header does not match its checksum");
  }
  return header;
}

absl::Status CheckSizes(int fd, const SegmentHeader& header) {
  const uint64_t expected = SegmentLayout::Of(header.options).total_bytes;
  struct stat file = {};
  if (::fstat(fd, &file) != 0) return ErrnoToStatus(errno, "stat segment");
  if (header.total_bytes == expected &&
      static_cast<uint64_t>(file.st_size) == expected) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("segment sizes do not add up: options need ", expected,
                   " bytes, the header says ", header.total_bytes,
                   ", the file has ", file.st_size));
}

}  // namespace

struct Segment::Mapping {
  UniqueFd fd;
  bip::mapped_region region;
};

absl::Status ValidateOptions(const SegmentOptions& options) {
  FGNN_RETURN_IF_ERROR(
      CheckRange("num_slots", options.num_slots, 1, kMaxSlots));
  FGNN_RETURN_IF_ERROR(CheckRange("slot_bytes", options.slot_bytes,
                                  sizeof(TaskHeader), kMaxBlockBytes));
  FGNN_RETURN_IF_ERROR(CheckRange("parts", options.parts, 1, kMostParts));
  FGNN_RETURN_IF_ERROR(CheckRange("num_overflow_blocks",
                                  options.num_overflow_blocks, 0,
                                  kMaxOwners * options.parts));
  if (options.num_overflow_blocks > 0) {
    FGNN_RETURN_IF_ERROR(CheckRange("overflow_bytes", options.overflow_bytes,
                                    sizeof(TaskHeader), kMaxBlockBytes));
  }
  FGNN_RETURN_IF_ERROR(CheckRange(
      "batches_per_epoch", options.batches_per_epoch, 1, kGenerationLimit - 1));
  FGNN_RETURN_IF_ERROR(
      CheckRange("epochs", options.epochs, 1,
                 (kGenerationLimit - 1) / options.batches_per_epoch));
  FGNN_RETURN_IF_ERROR(CheckRange("batches_per_step", options.batches_per_step,
                                  1, kMaxBatchesPerStep));
  FGNN_RETURN_IF_ERROR(
      CheckRange("num_hosts", options.num_hosts, 1, kMostHosts));
  const uint64_t places = options.num_hosts > 1 ? options.batches_per_step : 0;
  FGNN_RETURN_IF_ERROR(
      CheckRange("places_before", options.places_before, 0, places));
  FGNN_RETURN_IF_ERROR(CheckRange("places_after", options.places_after, 0,
                                  places - options.places_before));
  FGNN_RETURN_IF_ERROR(
      CheckRange("staleness", options.staleness, 0, kMaxStaleness));
  FGNN_RETURN_IF_ERROR(CheckParts(options));
  FGNN_RETURN_IF_ERROR(
      CheckRange("num_parameters", options.num_parameters, 0, kMaxParameters));
  FGNN_RETURN_IF_ERROR(CheckRange("first_version", options.first_version, 0,
                                  JobShape(options).num_steps()));
  FGNN_RETURN_IF_ERROR(
      CheckRange("cache_rows", options.cache_rows, 0, UINT32_MAX));
  FGNN_RETURN_IF_ERROR(CheckRange("standby_cache_rows",
                                  options.standby_cache_rows, 0, UINT32_MAX));
  FGNN_RETURN_IF_ERROR(
      CheckRange("shared_row_bytes", options.shared_row_bytes, 0, UINT32_MAX));
  FGNN_RETURN_IF_ERROR(
      CheckRange("num_devices", options.num_devices, 0, kMostDevices));
  FGNN_RETURN_IF_ERROR(CheckRange("switching", options.switching, 0, 1));
  FGNN_RETURN_IF_ERROR(
      CheckRange("most_samplers", options.most_samplers, 0, kMostDevices));
  FGNN_RETURN_IF_ERROR(
      CheckRange("most_trainers", options.most_trainers, 0, kMostDevices));
  FGNN_RETURN_IF_ERROR(
      CheckRange("topology_on_host", options.topology_on_host, 0, 1));
  FGNN_RETURN_IF_ERROR(
      CheckRange("num_members", options.num_members, 0, kMostDevices));
  FGNN_RETURN_IF_ERROR(
      CheckRange("hidden_on_gpu", options.hidden_on_gpu, 0, 1));
  return CheckRange("optimizer_floats_per_parameter",
                    options.optimizer_floats_per_parameter, 0,
                    kMaxOptimizerFloats);
}

uint64_t SegmentBytes(const SegmentOptions& options) {
  const SegmentLayout layout = SegmentLayout::Of(options);
  return options.parts > 1 ? layout.overflow : layout.messages;
}

Segment::Segment(const SegmentOptions& options)
    : options_(options), shape_(options) {}

absl::StatusOr<std::unique_ptr<Segment>> Segment::Map(
    UniqueFd fd, const SegmentOptions& options) {
  std::unique_ptr<Segment> segment(new Segment(options));
  segment->mapping_ = std::make_unique<Mapping>();
  const uint64_t bytes = SegmentLayout::Of(options).total_bytes;
  try {  // Boost may throw only here.
    segment->mapping_->region = bip::mapped_region(MappableDescriptor(fd.get()),
                                                   bip::read_write, 0, bytes);
  } catch (const bip::interprocess_exception& error) {
    return ErrnoToStatus(error.get_native_error(),
                         absl::StrCat("map segment of ", FormatBytes(bytes)));
  }
  segment->mapping_->fd = std::move(fd);
  segment->regions_ = std::make_unique<Regions>(
      static_cast<std::byte*>(segment->mapping_->region.get_address()),
      options);
  return segment;
}

absl::StatusOr<std::unique_ptr<Segment>> Segment::Create(
    const SegmentOptions& options) {
  FGNN_RETURN_IF_ERROR(ValidateOptions(options));
  const SegmentHeader header = HeaderOf(options);
  FGNN_RETURN_IF_ERROR(CheckHeadroom(SegmentBytes(options)));
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, AllocateSealed(header));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment,
                        Map(std::move(fd), options));
  segment->SetCachePlan({.rank_order_key = options.rank_order_key,
                         .rows = options.cache_rows,
                         .standby_rows = options.standby_cache_rows});
  segment->SetRateFactor(1);
  const JobShape& shape = segment->shape();
  SlotTable(*segment).FreeAllFrom(
      shape.TasksOf(shape.BatchesOfStep(StepNumber(options.first_version)))
          .begin);
  return segment;
}

absl::StatusOr<std::unique_ptr<Segment>> Segment::Attach(UniqueFd fd,
                                                         uint64_t job_key) {
  FGNN_RETURN_IF_ERROR(CheckSealed(fd.get()));
  FGNN_ASSIGN_OR_RETURN(const SegmentHeader header, ReadHeader(fd.get()));
  const SegmentOptions& options = header.options;
  if (options.job_key != job_key) {
    return absl::InvalidArgumentError("segment belongs to another job");
  }
  FGNN_RETURN_IF_ERROR(Annotate(ValidateOptions(options), "segment header"));
  FGNN_RETURN_IF_ERROR(CheckSizes(fd.get(), header));
  return Map(std::move(fd), options);
}

Segment::~Segment() = default;

int Segment::fd() const { return mapping_->fd.get(); }

absl::Span<std::byte> Segment::task_blocks() const {
  return regions_->task_blocks();
}

uint64_t Segment::total_bytes() const { return SegmentBytes(options_); }

CachePlan Segment::cache_plan() const {
  ControlWords& control = regions_->control();
  const uint64_t key =
      SharedWord(control.rank_order_key).load(std::memory_order_acquire);
  return {
      .rank_order_key = key,
      .rows = SharedWord(control.cache_rows).load(std::memory_order_relaxed),
      .standby_rows = SharedWord(control.standby_cache_rows)
                          .load(std::memory_order_relaxed),
      .table = SharedWord(control.hot_table).load(std::memory_order_relaxed)};
}

void Segment::SetCachePlan(const CachePlan& plan) {
  ControlWords& control = regions_->control();
  SharedWord(control.cache_rows).store(plan.rows, std::memory_order_relaxed);
  SharedWord(control.standby_cache_rows)
      .store(plan.standby_rows, std::memory_order_relaxed);
  SharedWord(control.hot_table).store(plan.table, std::memory_order_relaxed);
  SharedWord(control.rank_order_key)
      .store(plan.rank_order_key, std::memory_order_release);
}

double Segment::rate_factor() const {
  return std::bit_cast<double>(SharedWord(regions_->control().rate_factor)
                                   .load(std::memory_order_acquire));
}

void Segment::SetRateFactor(double factor) {
  SharedWord(regions_->control().rate_factor)
      .store(std::bit_cast<uint64_t>(factor), std::memory_order_release);
}

uint64_t Segment::AgreeOnTrainers(uint64_t kind) {
  uint64_t found = 0;
  const bool is_first =
      SharedWord(regions_->control().trainers_kind)
          .compare_exchange_strong(found, kind, std::memory_order_acq_rel);
  return is_first ? kind : found;
}

}  // namespace fgnn
