// The figures of a daemon as text for Prometheus (text exposition format
// 0.0.4).
#ifndef FGNN_SHARED_METRICS_METRIC_PAGE_H_
#define FGNN_SHARED_METRICS_METRIC_PAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace fgnn {

// The content type of a MetricPage's text.
inline constexpr char kMetricContentType[] =
    "text/plain; version=0.0.4; charset=utf-8";

// Samples of one name are one metric, whose first help counts. Its samples
// differ in their labels. Names have units, and those of counters end in
// "_total". A label's value is never a name that users choose, nor the number
// of a batch: each value costs Prometheus memory for weeks. Not thread-safe.
class MetricPage {
 public:
  using Labels = std::map<std::string, std::string>;

  MetricPage();
  ~MetricPage();
  MetricPage(const MetricPage&) = delete;
  MetricPage& operator=(const MetricPage&) = delete;

  // Adds a number that only rises while the daemon lives.
  void AddCounter(const std::string& name, const std::string& help,
                  double value, const Labels& labels = {});
  // Adds a number that may fall.
  void AddGauge(const std::string& name, const std::string& help, double value,
                const Labels& labels = {});
  // Returns all metrics in the order in which they were added.
  std::string Text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

// Adds what every daemon says of itself: fgnn_build_info, and the process_*
// metrics that Prometheus' clients share. What the kernel does not tell is
// left out.
void AddProcessMetrics(const std::string& version, MetricPage& page);

// Adds fgnn_gpu_memory_bytes, of a daemon that works on a GPU.
void AddGpuMemory(uint64_t bytes, MetricPage& page);

}  // namespace fgnn

#endif  // FGNN_SHARED_METRICS_METRIC_PAGE_H_
