// What it costs to give work to the device, and to wait for it.
#include <algorithm>
#include <vector>

#include "tests/gpu/facts/facts.h"
#include "tests/gpu/facts/kernels.h"

namespace fgnn {
namespace {

constexpr int kLaunches = 10000;
constexpr int kKernelsOfGraph = 20;

struct DestroyGraph {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraphExec_st, DestroyGraph>;

// A graph of kernels that do nothing, one after another.
cudaError_t CaptureGraph(cudaStream_t stream, Graph* out) {
  FGNN_CUDA_TRY(
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kKernelsOfGraph; ++i) {
    FGNN_CUDA_TRY(LaunchNothing(stream));
  }
  cudaGraph_t graph = nullptr;
  FGNN_CUDA_TRY(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  FGNN_CUDA_TRY(error);
  out->reset(exec);
  return cudaSuccess;
}

cudaError_t LaunchCosts(cudaStream_t stream, Report* report) {
  FGNN_CUDA_TRY(LaunchNothing(stream));
  FGNN_CUDA_TRY(cudaStreamSynchronize(stream));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunches; ++i) FGNN_CUDA_TRY(LaunchNothing(stream));
  const double host = SecondsSince(start);
  FGNN_CUDA_TRY(cudaStreamSynchronize(stream));
  report->Figure("launch, the host's part", host / kLaunches * 1e6, "us",
                 "one H100: 3.0");
  report->Figure("launch, until the kernel has ended",
                 SecondsSince(start) / kLaunches * 1e6, "us",
                 "one after another; one H100: 3.0");
  return cudaSuccess;
}

cudaError_t GraphCosts(cudaStream_t stream, Report* report) {
  Graph graph;
  FGNN_CUDA_TRY(CaptureGraph(stream, &graph));
  FGNN_CUDA_TRY(cudaGraphLaunch(graph.get(), stream));
  FGNN_CUDA_TRY(cudaStreamSynchronize(stream));
  constexpr int kGraphs = kLaunches / kKernelsOfGraph;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kGraphs; ++i) {
    FGNN_CUDA_TRY(cudaGraphLaunch(graph.get(), stream));
  }
  const double host = SecondsSince(start);
  FGNN_CUDA_TRY(cudaStreamSynchronize(stream));
  report->Figure("launch of a graph, the host's part", host / kGraphs * 1e6,
                 "us",
                 std::to_string(kKernelsOfGraph) + " kernels; one H100: 1.3");
  report->Figure("launch of a graph, a kernel of it",
                 SecondsSince(start) / kLaunches * 1e6, "us", "one H100: 1.0");
  return cudaSuccess;
}

// Launch, mark, wait: the whole way, median of many.
cudaError_t WaitCost(const std::string& name, unsigned flags, bool asks,
                     const char* h100, cudaStream_t stream, Report* report) {
  cudaEvent_t event = nullptr;
  FGNN_CUDA_TRY(
      cudaEventCreateWithFlags(&event, flags | cudaEventDisableTiming));
  std::vector<double> seconds;
  cudaError_t error = cudaSuccess;
  for (int i = 0; i < 1000 && error == cudaSuccess; ++i) {
    const auto start = std::chrono::steady_clock::now();
    error = LaunchNothing(stream);
    if (error == cudaSuccess) error = cudaEventRecord(event, stream);
    if (error == cudaSuccess && !asks) error = cudaEventSynchronize(event);
    if (error == cudaSuccess && asks) {
      do {
        error = cudaEventQuery(event);
      } while (error == cudaErrorNotReady);
    }
    seconds.push_back(SecondsSince(start));
  }
  cudaEventDestroy(event);
  FGNN_CUDA_TRY(error);
  std::sort(seconds.begin(), seconds.end());
  report->Figure(name, seconds[seconds.size() / 2] * 1e6, "us",
                 "99 of 100 within " +
                     Report::Number(seconds[seconds.size() * 99 / 100] * 1e6) +
                     "; one H100: " + h100);
  return cudaSuccess;
}

}  // namespace

cudaError_t LaunchFacts(Report* report) {
  Stream stream;
  FGNN_CUDA_TRY(MakeStream(&stream));
  FGNN_CUDA_TRY(LaunchCosts(stream.get(), report));
  FGNN_CUDA_TRY(GraphCosts(stream.get(), report));
  FGNN_CUDA_TRY(WaitCost("launch and wait, asking", 0, true, "8.8",
                         stream.get(), report));
  FGNN_CUDA_TRY(WaitCost("launch and wait, spinning", 0, false, "8.7",
                         stream.get(), report));
  return WaitCost("launch and wait, sleeping", cudaEventBlockingSync, false,
                  "23.9", stream.get(), report);
}

}  // namespace fgnn
