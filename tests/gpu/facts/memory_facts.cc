// The device, host memory that it may reach, and bytes a second between them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/gpu/facts/facts.h"
#include "tests/gpu/facts/kernels.h"

namespace fgnn {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr double kGB = 1e9;
constexpr int kRounds = 5;
constexpr double kBusLimit = 63;  // GB/s of PCIe 5 x16, one way.

cudaError_t Attribute(cudaDeviceAttr attribute, int* value) {
  return cudaDeviceGetAttribute(value, attribute, 0);
}

// Sets GB a second of the device's memory, by its clock and width.
cudaError_t MemoryLimit(double* gb_per_second) {
  int clock = 0, width = 0;
  FGNN_CUDA_TRY(Attribute(cudaDevAttrMemoryClockRate, &clock));
  FGNN_CUDA_TRY(Attribute(cudaDevAttrGlobalMemoryBusWidth, &width));
  *gb_per_second = 2e3 * clock * (width / 8) / kGB;
  return cudaSuccess;
}

// Registers, unregisters, and prints the seconds or the error beside `h100`,
// those of one H100.
cudaError_t Register(const std::string& name, void* memory, uint64_t bytes,
                     unsigned flags, const std::string& h100, Report* report) {
  const auto start = std::chrono::steady_clock::now();
  const cudaError_t error = cudaHostRegister(memory, bytes, flags);
  const double seconds = SecondsSince(start);
  if (error != cudaSuccess) {
    report->Fact(name, "refused", TextOf(error) + "; one H100: " + h100);
    cudaGetLastError();
    return cudaSuccess;
  }
  const double gb = static_cast<double>(bytes) / kGB;
  const auto unregister = std::chrono::steady_clock::now();
  FGNN_CUDA_TRY(cudaHostUnregister(memory));
  report->Figure(name, seconds / gb, "s/GB",
                 "undone: " + Report::Number(SecondsSince(unregister) / gb) +
                     "; one H100: " + h100);
  return cudaSuccess;
}

// A mapping of a file as the dataset's arrays are mapped.
cudaError_t RegisterFile(int mapping, const std::string& name,
                         const std::string& h100, Report* report) {
  constexpr uint64_t kBytes = kGiB / 2;
  const char* const folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr ? folder : "/tmp") +
                     "/fgnn-gpu-facts-XXXXXX";
  const int fd = ::mkstemp(path.data());
  if (fd < 0) {
    report->Fail(name, path + ": " + std::strerror(errno));
    return cudaSuccess;
  }
  ::unlink(path.c_str());
  const std::vector<char> piece(1 << 20, 'x');
  for (uint64_t done = 0; done < kBytes; done += piece.size()) {
    if (::write(fd, piece.data(), piece.size()) !=
        static_cast<ssize_t>(piece.size())) {
      report->Fail(name, path + ": " + std::strerror(errno));
      ::close(fd);
      return cudaSuccess;
    }
  }
  void* const data = ::mmap(nullptr, kBytes, PROT_READ, mapping, fd, 0);
  cudaError_t error =
      Register(name, data, kBytes,
               cudaHostRegisterPortable | cudaHostRegisterMapped |
                   cudaHostRegisterReadOnly,
               h100, report);
  if (error == cudaSuccess) {
    error = Register(name + ", not told read-only", data, kBytes,
                     cudaHostRegisterPortable | cudaHostRegisterMapped,
                     "refused", report);
  }
  ::munmap(data, kBytes);
  ::close(fd);
  return error;
}

cudaError_t CopyAcross(const SharedBytes& host, void* device, Report* report) {
  const double gb = static_cast<double>(host.bytes()) / kGB;
  const std::string limit =
      "limit " + Report::Number(kBusLimit) + " GB/s: PCIe 5 x16";
  Stream there, back;
  FGNN_CUDA_TRY(MakeStream(&there));
  FGNN_CUDA_TRY(MakeStream(&back));
  double seconds = 0;
  const auto to_device = [&](cudaStream_t stream, uint64_t bytes) {
    return cudaMemcpyAsync(device, host.data(), bytes, cudaMemcpyHostToDevice,
                           stream);
  };
  FGNN_CUDA_TRY(BestSeconds(
      kRounds, there.get(),
      [&] { return to_device(there.get(), host.bytes()); }, &seconds));
  report->Figure("copy host to device, registered", gb / seconds, "GB/s",
                 limit);
  FGNN_CUDA_TRY(BestSeconds(
      kRounds, back.get(),
      [&] {
        return cudaMemcpyAsync(host.data(), device, host.bytes(),
                               cudaMemcpyDeviceToHost, back.get());
      },
      &seconds));
  report->Figure("copy device to host, registered", gb / seconds, "GB/s",
                 limit);
  const uint64_t half = host.bytes() / 2;
  const auto both_ways = [&] {
    FGNN_CUDA_TRY(to_device(there.get(), half));
    FGNN_CUDA_TRY(cudaMemcpyAsync(host.data() + half,
                                  static_cast<char*>(device) + half, half,
                                  cudaMemcpyDeviceToHost, back.get()));
    return cudaStreamSynchronize(back.get());
  };
  FGNN_CUDA_TRY(BestSeconds(kRounds, there.get(), both_ways, &seconds));
  report->Figure("copy both ways at once, in all", gb / seconds, "GB/s",
                 "limit 126 GB/s");
  return cudaSuccess;
}

cudaError_t CopyInside(Report* report) {
  constexpr uint64_t kBytes = 4 * kGiB;
  DeviceBytes from, to;
  Stream stream;
  FGNN_CUDA_TRY(Allocate(kBytes, &from));
  FGNN_CUDA_TRY(Allocate(kBytes, &to));
  FGNN_CUDA_TRY(MakeStream(&stream));
  int multiprocessors = 0;
  double memory = 0;
  FGNN_CUDA_TRY(Attribute(cudaDevAttrMultiProcessorCount, &multiprocessors));
  FGNN_CUDA_TRY(MemoryLimit(&memory));
  const std::string limit = "read + written; limit " + Report::Number(memory) +
                            " GB/s: memory clock and width";
  double seconds = 0;
  FGNN_CUDA_TRY(BestSeconds(
      kRounds, stream.get(),
      [&] {
        return cudaMemcpyAsync(to.get(), from.get(), kBytes,
                               cudaMemcpyDeviceToDevice, stream.get());
      },
      &seconds));
  report->Figure("copy in device memory, by the runtime",
                 2 * static_cast<double>(kBytes) / kGB / seconds, "GB/s",
                 limit);
  FGNN_CUDA_TRY(BestSeconds(
      kRounds, stream.get(),
      [&] {
        return LaunchCopy(from.get(), to.get(), kBytes,
                          static_cast<uint32_t>(multiprocessors), stream.get());
      },
      &seconds));
  report->Figure("copy in device memory, by a kernel",
                 2 * static_cast<double>(kBytes) / kGB / seconds, "GB/s",
                 limit);
  return cudaSuccess;
}

// `limit`: of the memory or of the bus that the reads pass.
std::string InThem(double gb_per_second, double limit) {
  return Report::Number(gb_per_second) + " GB/s in them, limit " +
         Report::Number(limit);
}

// Random words of sectors, in a table of a size.
cudaError_t ReadSectors(const std::string& name, const void* table,
                        uint64_t bytes, uint64_t num_reads, double limit,
                        Report* report) {
  Stream stream;
  DeviceBytes sink;
  FGNN_CUDA_TRY(MakeStream(&stream));
  FGNN_CUDA_TRY(Allocate(sizeof(uint32_t), &sink));
  uint64_t seed = 1;
  double seconds = 0;
  FGNN_CUDA_TRY(BestSeconds(
      kRounds, stream.get(),
      [&] {
        return LaunchRandomSectors({.table = table,
                                    .num_sectors = bytes / 32,
                                    .num_reads = num_reads,
                                    .seed = seed++ << 40,
                                    .sink = static_cast<uint32_t*>(sink.get())},
                                   stream.get());
      },
      &seconds));
  const double reads = static_cast<double>(num_reads);
  report->Figure(name, reads / seconds / 1e6, "M sectors/s",
                 InThem(reads * 32 / seconds / kGB, limit));
  return cudaSuccess;
}

cudaError_t ReadRows(const std::string& where, const void* table,
                     uint64_t bytes, uint32_t row_bytes, uint64_t num_reads,
                     double limit, Report* report,
                     double* gb_per_second = nullptr) {
  Stream stream;
  DeviceBytes out;
  FGNN_CUDA_TRY(MakeStream(&stream));
  FGNN_CUDA_TRY(Allocate(num_reads * row_bytes, &out));
  uint64_t seed = 1;
  double seconds = 0;
  FGNN_CUDA_TRY(BestSeconds(
      kRounds, stream.get(),
      [&] {
        return LaunchRandomRows({.table = table,
                                 .out = out.get(),
                                 .num_rows = bytes / row_bytes,
                                 .num_reads = num_reads,
                                 .row_bytes = row_bytes,
                                 .seed = seed++ << 40},
                                stream.get());
      },
      &seconds));
  const double reads = static_cast<double>(num_reads);
  report->Figure(
      "random rows of " + std::to_string(row_bytes) + " bytes, " + where,
      reads / seconds / 1e6, "M rows/s",
      InThem(reads * row_bytes / seconds / kGB, limit));
  if (gb_per_second != nullptr) {
    *gb_per_second = reads * row_bytes / seconds / kGB;
  }
  return cudaSuccess;
}

// Rows of the first part of `host`, for parts of several sizes: within which
// the bus is the limit, and no longer the translation of addresses.
cudaError_t ReadHostRows(const SharedBytes& host, const void* table,
                         uint32_t row_bytes, Report* report) {
  constexpr double kOfBus = 0.8;
  DeviceBytes device;
  Stream stream;
  double seconds = 0;
  FGNN_CUDA_TRY(Allocate(kGiB / 4, &device));
  FGNN_CUDA_TRY(MakeStream(&stream));
  FGNN_CUDA_TRY(BestSeconds(
      kRounds, stream.get(),
      [&] {
        return cudaMemcpyAsync(device.get(), host.data(), kGiB / 4,
                               cudaMemcpyHostToDevice, stream.get());
      },
      &seconds));
  const double bus = static_cast<double>(kGiB / 4) / kGB / seconds;
  double reach = 0;
  for (uint64_t bytes = kGiB / 4; bytes <= host.bytes(); bytes *= 2) {
    const double gib = static_cast<double>(bytes) / static_cast<double>(kGiB);
    double rate = 0;
    FGNN_CUDA_TRY(ReadRows(
        "registered host memory, " + Report::Number(gib) + " GiB", table, bytes,
        row_bytes, uint64_t{1} << 20, bus, report, &rate));
    if (rate >= kOfBus * bus) reach = gib;
  }
  report->Figure("host memory whose random rows of " +
                     std::to_string(row_bytes) + " bytes come at bus rate",
                 reach, "GiB",
                 "at least " + Report::Number(kOfBus * bus) + " GB/s");
  return cudaSuccess;
}

}  // namespace

cudaError_t DeviceFacts(Report* report) {
  cudaDeviceProp device = {};
  FGNN_CUDA_TRY(cudaGetDeviceProperties(&device, 0));
  int driver = 0, runtime = 0, read_only = 0;
  FGNN_CUDA_TRY(cudaDriverGetVersion(&driver));
  FGNN_CUDA_TRY(cudaRuntimeGetVersion(&runtime));
  FGNN_CUDA_TRY(
      Attribute(cudaDevAttrHostRegisterReadOnlySupported, &read_only));
  report->Fact("device", device.name,
               "sm_" + std::to_string(device.major * 10 + device.minor));
  report->Figure("multiprocessors", device.multiProcessorCount, "",
                 "one H100: 132");
  report->Figure("L2 cache", device.l2CacheSize / 1e6, "MB", "one H100: 50");
  report->Figure("device memory",
                 static_cast<double>(device.totalGlobalMem) / kGB, "GB",
                 "what plans divide");
  report->Figure("shared memory of a block, at most",
                 static_cast<double>(device.sharedMemPerBlockOptin) / 1024,
                 "KiB", "an H100: 227");
  report->Figure("asynchronous copy engines", device.asyncEngineCount, "",
                 "2 copy both ways at once");
  report->Fact("versions, driver and runtime", std::to_string(driver),
               std::to_string(runtime));
  report->Fact("read-only registration, says the driver",
               read_only != 0 ? "yes" : "no", "mapped files are registered so");
  return cudaSuccess;
}

cudaError_t RegistrationFacts(Report* report) {
  {
    const SharedBytes segment(kGiB);
    if (segment.data() == nullptr) return cudaErrorMemoryAllocation;
    std::memset(segment.data(), 1, segment.bytes());
    FGNN_CUDA_TRY(Register("register a sealed memfd, shared, read-write",
                           segment.data(), segment.bytes(),
                           cudaHostRegisterPortable | cudaHostRegisterMapped,
                           "0.145, undone: 0.015", report));
  }
  FGNN_CUDA_TRY(RegisterFile(MAP_SHARED, "register a file, shared, PROT_READ",
                             "0.039, undone: 0.007", report));
  return RegisterFile(MAP_PRIVATE, "register a file, private, PROT_READ",
                      "0.45, undone: 0.005", report);
}

cudaError_t CopyFacts(Report* report) {
  FGNN_CUDA_TRY(CopyInside(report));
  const SharedBytes host(kGiB);
  if (host.data() == nullptr) return cudaErrorMemoryAllocation;
  DeviceBytes device;
  FGNN_CUDA_TRY(Allocate(host.bytes(), &device));
  FGNN_CUDA_TRY(
      cudaHostRegister(host.data(), host.bytes(), cudaHostRegisterPortable));
  const cudaError_t error = CopyAcross(host, device.get(), report);
  FGNN_CUDA_TRY(cudaHostUnregister(host.data()));
  return error;
}

cudaError_t RandomReadFacts(Report* report) {
  constexpr uint64_t kReads = uint64_t{1} << 28;
  double memory = 0;
  FGNN_CUDA_TRY(MemoryLimit(&memory));
  for (const uint64_t gib : {1, 16}) {
    DeviceBytes table;
    FGNN_CUDA_TRY(Allocate(gib * kGiB, &table));
    const std::string where =
        "device memory, table of " + std::to_string(gib) + " GiB";
    FGNN_CUDA_TRY(ReadSectors("random sectors, " + where, table.get(),
                              gib * kGiB, kReads, memory, report));
    for (const uint32_t row_bytes : {400u, 1024u}) {
      FGNN_CUDA_TRY(ReadRows(where, table.get(), gib * kGiB, row_bytes,
                             uint64_t{1} << 22, memory, report));
    }
  }
  const SharedBytes host(4 * kGiB);
  if (host.data() == nullptr) return cudaErrorMemoryAllocation;
  FGNN_CUDA_TRY(
      cudaHostRegister(host.data(), host.bytes(), cudaHostRegisterMapped));
  void* table = nullptr;
  FGNN_CUDA_TRY(cudaHostGetDevicePointer(&table, host.data(), 0));
  FGNN_CUDA_TRY(ReadSectors("random sectors, registered host memory", table,
                            host.bytes(), kReads / 16, kBusLimit, report));
  for (const uint32_t row_bytes : {400u, 1024u}) {
    FGNN_CUDA_TRY(ReadHostRows(host, table, row_bytes, report));
  }
  return cudaHostUnregister(host.data());
}

}  // namespace fgnn
