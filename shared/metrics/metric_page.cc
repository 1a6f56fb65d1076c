#include "shared/metrics/metric_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <vector>

namespace fgnn {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct MetricPage::Families {
  // Adds a sample without a value, and returns it.
  ClientMetric& AddSample(const std::string& name, const std::string& help,
                          MetricType type, const Labels& labels) {
    const auto found = std::find_if(
        all.begin(), all.end(),
        [&](const MetricFamily& family) { return family.name == name; });
    MetricFamily& family = found != all.end() ? *found : all.emplace_back();
    if (family.metric.empty()) {
      family.name = name;
      family.help = help;
      family.type = type;
    }
    ClientMetric& sample = family.metric.emplace_back();
    for (const auto& [label, value] : labels) {
      sample.label.push_back({label, value});
    }
    return sample;
  }

  std::vector<MetricFamily> all;
};

MetricPage::MetricPage() : families_(std::make_unique<Families>()) {}

MetricPage::~MetricPage() = default;

void MetricPage::AddCounter(const std::string& name, const std::string& help,
                            double value, const Labels& labels) {
  families_->AddSample(name, help, MetricType::Counter, labels).counter.value =
      value;
}

void MetricPage::AddGauge(const std::string& name, const std::string& help,
                          double value, const Labels& labels) {
  families_->AddSample(name, help, MetricType::Gauge, labels).gauge.value =
      value;
}

std::string MetricPage::Text() const {
  return prometheus::TextSerializer().Serialize(families_->all);
}

}  // namespace fgnn
