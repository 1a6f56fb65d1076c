// fgnn_gpu_sample [--scale N] [--seconds S] [--threads T]: how fast device 0
// samples an R-MAT graph, beside what its memory and the bus allow. README.md
// beside this says what each line means.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/cuda/cuda_sampler.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/report.h"
#include "tests/gpu/sample/crc_figures.h"
#include "tests/gpu/sample/id_map_figures.h"
#include "tests/gpu/sample/random_sectors.h"
#include "tests/gpu/sample/rmat.h"
#include "tests/gpu/sample/task_memory.h"

namespace fgnn {
namespace {

constexpr uint64_t kJobKey = 7;
constexpr uint64_t kEdgeFactor = 16;
constexpr uint64_t kBlockBytes = uint64_t{192} << 20;

struct Flags {
  uint32_t scale = 24;
  double seconds = 2;  // Of each figure that counts batches.
  uint32_t threads = std::max(1u, std::thread::hardware_concurrency());
};

// What the device could do at best.
struct Limits {
  double sectors_per_second = 0;  // Random reads in the graph's memory.
  double bytes_per_second = 0;    // From the device to registered memory.
};

std::string Ms(double seconds) {
  return absl::StrCat(Report::Number(seconds * 1e3), " ms");
}

// Returns the seconds of the fastest of some rounds of device work.
template <typename Work>
absl::StatusOr<double> BestSeconds(const CudaStream& stream, Work work) {
  FGNN_ASSIGN_OR_RETURN(CudaEvent start,
                        CudaEvent::Make(CudaEvent::Times::kYes));
  FGNN_ASSIGN_OR_RETURN(CudaEvent end, CudaEvent::Make(CudaEvent::Times::kYes));
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    FGNN_RETURN_IF_ERROR(start.Record(stream));
    FGNN_RETURN_IF_ERROR(CudaStatus(work(round), "measure a limit"));
    FGNN_RETURN_IF_ERROR(end.Record(stream));
    FGNN_RETURN_IF_ERROR(end.Wait(DeadlineIn(std::chrono::seconds(30))));
    FGNN_ASSIGN_OR_RETURN(const float ms, end.MillisecondsSince(start));
    best = std::min(best, ms / 1e3);
  }
  return best;
}

absl::StatusOr<double> SectorsPerSecond(const CudaStream& stream,
                                        const void* table, uint64_t bytes) {
  constexpr uint64_t kReads = uint64_t{1} << 27;
  FGNN_ASSIGN_OR_RETURN(const auto sink, DeviceArray<uint32_t>::Make(1));
  FGNN_ASSIGN_OR_RETURN(const double seconds,
                        BestSeconds(stream, [&](int round) {
                          return LaunchRandomSectors(
                              {.table = table,
                               .num_sectors = bytes / 32,
                               .num_reads = kReads,
                               .seed = static_cast<uint64_t>(round + 1) << 40,
                               .sink = sink.get()},
                              stream.get());
                        }));
  return static_cast<double>(kReads) / seconds;
}

absl::StatusOr<Limits> MeasureLimits(const DeviceGraph& graph,
                                     const TaskMemory& block, Report* report) {
  Limits limits;
  FGNN_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Make());
  const uint64_t bytes = graph.csc().num_edges * 4;
  FGNN_ASSIGN_OR_RETURN(limits.sectors_per_second,
                        SectorsPerSecond(stream, graph.csc().indices, bytes));
  constexpr uint64_t kCached = uint64_t{32} << 20;
  FGNN_ASSIGN_OR_RETURN(
      const double cached_per_second,
      SectorsPerSecond(stream, graph.csc().indices, std::min(bytes, kCached)));
  constexpr uint64_t kCopied = uint64_t{64} << 20;
  FGNN_ASSIGN_OR_RETURN(const auto from, DeviceArray<std::byte>::Make(kCopied));
  FGNN_ASSIGN_OR_RETURN(const double seconds, BestSeconds(stream, [&](int) {
                          return cudaMemcpyAsync(
                              block.span().data(), from.get(), kCopied,
                              cudaMemcpyDeviceToHost, stream.get());
                        }));
  limits.bytes_per_second = kCopied / seconds;
  report->Figure("random sectors of the topology",
                 limits.sectors_per_second / 1e9, "G/s",
                 absl::StrCat(bytes >> 20, " MiB; ",
                              Report::Number(cached_per_second / 1e9),
                              " of 32 MiB, in the cache"));
  report->Figure("copy to registered memory", limits.bytes_per_second / 1e9,
                 "GB/s", "limit 63: PCIe 5 x16");
  return limits;
}

// What a thread of a run has made.
struct Made {
  uint64_t batches = 0;
  uint64_t edges = 0;
  uint64_t input_nodes = 0;
  uint64_t destinations_read = 0;  // Vertices whose list was looked up.
  uint64_t bytes = 0;
  SampleSeconds seconds;
  absl::Status status;
};

struct Job {
  RmatGraph& graph;
  std::shared_ptr<DeviceGraph> on_device;
  SamplerOptions options;
  HotRanks ranks;
  SamplerInput input() const {
    return {.graph = graph.view(), .train = graph.train()};
  }
};

void Add(const SampledTask& task, absl::Span<const std::byte> block,
         Made* made) {
  TaskHeader header;
  std::memcpy(&header, block.data(), sizeof(header));
  ++made->batches;
  made->edges += task.num_edges;
  made->input_nodes += task.num_input_nodes;
  made->destinations_read += header.hops[header.num_hops - 1].num_destinations;
  made->bytes += task.bytes;
  made->seconds.sample += task.seconds.sample;
  made->seconds.id_map += task.seconds.id_map;
  made->seconds.mark += task.seconds.mark;
  made->seconds.copy += task.seconds.copy;
}

// One sampler on one thread: batches first, first + step, … until the deadline.
Made RunSampler(Sampler& sampler, const TaskMemory& block, uint64_t first,
                uint64_t step, double seconds) {
  Made made;
  const Stopwatch watch;
  for (uint64_t seq = first; watch.Seconds() < seconds; seq += step) {
    const auto task = sampler.Sample(BatchSeq(seq), block.span());
    if (!task.ok()) {
      made.status = task.status();
      return made;
    }
    Add(*task, block.span(), &made);
  }
  return made;
}

struct Measured {
  Made sum;
  double seconds = 0;
};

absl::StatusOr<Measured> RunSamplers(const Job& job, uint64_t num_samplers,
                                     bool registered, double seconds) {
  std::vector<std::unique_ptr<Sampler>> samplers;
  std::vector<TaskMemory> blocks;
  for (uint64_t s = 0; s < num_samplers; ++s) {
    FGNN_ASSIGN_OR_RETURN(
        auto sampler, NewCudaSampler(job.on_device, job.input(), job.options));
    FGNN_RETURN_IF_ERROR(sampler->MarkBy(job.ranks));
    FGNN_ASSIGN_OR_RETURN(auto block,
                          TaskMemory::Make(kBlockBytes, registered));
    // Buffers and the block's pages get their size.
    for (uint64_t seq = 0; seq < 3; ++seq) {
      FGNN_RETURN_IF_ERROR(
          sampler->Sample(BatchSeq(seq), block.span()).status());
    }
    samplers.push_back(std::move(sampler));
    blocks.push_back(std::move(block));
  }
  std::vector<Made> made(num_samplers);
  std::vector<std::thread> threads;
  const Stopwatch watch;
  for (uint64_t s = 0; s < num_samplers; ++s) {
    threads.emplace_back([&, s] {
      made[s] = RunSampler(*samplers[s], blocks[s], s, num_samplers, seconds);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Measured measured;
  measured.seconds = watch.Seconds();
  for (const Made& part : made) {
    FGNN_RETURN_IF_ERROR(part.status);
    measured.sum.batches += part.batches;
    measured.sum.edges += part.edges;
    measured.sum.input_nodes += part.input_nodes;
    measured.sum.destinations_read += part.destinations_read;
    measured.sum.bytes += part.bytes;
    measured.sum.seconds.sample += part.seconds.sample;
    measured.sum.seconds.id_map += part.seconds.id_map;
    measured.sum.seconds.mark += part.seconds.mark;
    measured.sum.seconds.copy += part.seconds.copy;
  }
  return measured;
}

// Prints a run beside its limits, which are those of the mean batch. Returns
// how many times its limit the run takes.
double Print(const std::string& name, const Measured& run, const Limits& limits,
             bool stages, Report* report) {
  const Made& sum = run.sum;
  const auto mean = [&](double of) { return of / double(sum.batches); };
  const double sectors =
      mean(double(sum.edges + sum.destinations_read + sum.input_nodes));
  const double reads = sectors / limits.sectors_per_second;
  const double copies = mean(double(sum.bytes)) / limits.bytes_per_second;
  const double seconds = mean(run.seconds);
  const double limit = std::max(reads, copies);
  const double times = seconds / limit;
  report->Figure(name, seconds * 1e3, "ms a batch",
                 absl::StrCat(Report::Number(times), " times its limit: reads ",
                              Ms(reads), ", bus ", Ms(copies)));
  report->Figure(
      absl::StrCat(name, ", edges"), double(sum.edges) / run.seconds / 1e6,
      "M edges/s",
      absl::StrCat(
          "limit ", Report::Number(mean(double(sum.edges)) / limit / 1e6), "; ",
          Report::Number(mean(double(sum.edges))), " edges, ",
          Report::Number(mean(double(sum.input_nodes))), " input nodes, ",
          Report::Number(mean(double(sum.bytes)) / 1e6), " MB a batch"));
  if (!stages) return times;
  const auto stage = [&](const char* what, float of, const std::string& is) {
    report->Figure(absl::StrCat("  ", what), mean(of) * 1e3, "ms",
                   absl::StrCat("of ", Ms(seconds), "; ", is));
  };
  stage("seeds, lists and draws", sum.seconds.sample, "device; seeds on host");
  stage("id map", sum.seconds.id_map,
        "device; entering is a part of the draws");
  stage("marks", sum.seconds.mark, "device");
  stage("checksum, copies, header", sum.seconds.copy,
        "device; copies and header on host");
  return times;
}

// The first batch against the CPU's; prints checksums and id maps of it.
absl::Status CheckFirst(const Job& job, const std::string& name,
                        const TaskMemory& block, Report* report) {
  FGNN_ASSIGN_OR_RETURN(const auto host,
                        NewCpuSampler(job.input(), job.options));
  FGNN_ASSIGN_OR_RETURN(
      const auto device,
      NewCudaSampler(job.on_device, job.input(), job.options));
  FGNN_ASSIGN_OR_RETURN(const SampledTask expected,
                        host->Sample(BatchSeq(0), block.span()));
  FGNN_ASSIGN_OR_RETURN(const SampledTask task,
                        device->Sample(BatchSeq(0), block.span()));
  report->Check(absl::StrCat(name, ": digest of the first"),
                task.digest == expected.digest, absl::StrCat(task.digest));
  const uint32_t num_blocks = job.on_device->num_multiprocessors() * 8;
  PrintCrcs(name, block.span().subspan(0, task.bytes), num_blocks, report);
  FGNN_ASSIGN_OR_RETURN(const TaskView view, ReadTask(block.span(), kJobKey));
  return PrintIdMaps(name, view, num_blocks, report);
}

absl::Status Measure(const Flags& flags, Report* report) {
  Stopwatch watch;
  RmatGraph graph(flags.scale, kEdgeFactor, flags.threads);
  std::printf("-- R-MAT graph of scale %u made in %.1f s\n", flags.scale,
              watch.Restart());
  FGNN_ASSIGN_OR_RETURN(
      const auto on_device,
      DeviceGraph::Make(graph.view(), 0, TopologyPlace::kDevice));
  std::printf("-- topology of %d MiB uploaded in %.1f s\n",
              static_cast<int>(on_device->device_bytes() >> 20),
              watch.Restart());
  FGNN_ASSIGN_OR_RETURN(const TaskMemory block,
                        TaskMemory::Make(kBlockBytes, true));
  FGNN_ASSIGN_OR_RETURN(const Limits limits,
                        MeasureLimits(*on_device, block, report));
  std::vector<uint32_t> ranks(graph.num_nodes());
  std::iota(ranks.rbegin(), ranks.rend(), 0);
  for (const uint32_t batch_size : {8000u, 1024u}) {
    Job job = {.graph = graph,
               .on_device = on_device,
               .options = {},
               .ranks = {.ranks = ranks, .rank_order_version = 1}};
    job.options.fanouts = {15, 10, 5};
    job.options.batch_size = batch_size;
    job.options.job_key = kJobKey;
    const std::string name = absl::StrCat("batch of ", batch_size);
    FGNN_RETURN_IF_ERROR(CheckFirst(job, name, block, report));
    double least = std::numeric_limits<double>::infinity();
    for (const uint64_t num_samplers : {1, 2, 3, 4}) {
      FGNN_ASSIGN_OR_RETURN(
          const Measured run,
          RunSamplers(job, num_samplers, /*registered=*/true, flags.seconds));
      least = std::min(
          least, Print(absl::StrCat(name, ", ", num_samplers, " under way"),
                       run, limits, /*stages=*/num_samplers == 1, report));
    }
    if (batch_size == 8000) {
      report->Check(absl::StrCat(name, ": times its limit"), least <= 2,
                    absl::StrCat(Report::Number(least), ", at most 2"));
    }
    FGNN_ASSIGN_OR_RETURN(
        const Measured pageable,
        RunSamplers(job, 2, /*registered=*/false, flags.seconds));
    Print(absl::StrCat(name, ", 2, pageable"), pageable, limits,
          /*stages=*/false, report);
  }
  return absl::OkStatus();
}

int Run(const Flags& flags) {
  if (!HasGpu()) return kNoGpu;
  Report report;
  cudaDeviceProp device = {};
  if (cudaGetDeviceProperties(&device, 0) == cudaSuccess) {
    report.Fact("device", device.name,
                absl::StrCat(device.multiProcessorCount, " multiprocessors, ",
                             device.l2CacheSize >> 20, " MiB L2"));
  }
  const absl::Status status = Measure(flags, &report);
  if (!status.ok()) report.Fail("sampling", status.ToString());
  return report.Finish();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::Flags flags;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--scale") == 0 && has_value) {
      flags.scale = static_cast<uint32_t>(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--seconds") == 0 && has_value) {
      flags.seconds = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--threads") == 0 && has_value) {
      flags.threads = static_cast<uint32_t>(std::atoi(argv[++i]));
    } else {
      std::fprintf(stderr,
                   "fgnn_gpu_sample: unknown flag '%s'; there are --scale, "
                   "--seconds and --threads\n",
                   argv[i]);
      return 2;
    }
  }
  return fgnn::Run(flags);
}
