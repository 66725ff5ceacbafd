#include "Bench.h"
#include <algorithm>
#include <chrono>

namespace tcc::run {

using Clock = std::chrono::steady_clock;

static double msSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

static double timeOne(Model &model, const std::vector<DLTensor> &inputs) {
  auto begin = Clock::now();
  Outputs outputs = model.run(inputs);
  return msSince(begin);
}

Timing bench(Model &model, const std::vector<DLTensor> &inputs, double seconds) {
  auto warmUp = Clock::now();
  for (int i = 0; i < 2 || msSince(warmUp) < std::min(seconds * 200, 500.); ++i)
    timeOne(model, inputs);
  std::vector<double> times;
  auto begin = Clock::now();
  while (times.size() < 3 || msSince(begin) < seconds * 1000)
    times.push_back(timeOne(model, inputs));
  std::sort(times.begin(), times.end());
  size_t n = times.size();
  double median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
  return {median, times.front(), times.back(), n};
}

std::string timingJson(const Timing &timing, const Model &model) {
  char text[512];
  tcc_context_stats stats = model.stats();
  snprintf(text, sizeof text,
           "{\"median_ms\": %.6f, \"min_ms\": %.6f, \"max_ms\": %.6f, \"runs\": %zu, "
           "\"open_ms\": %.3f, \"peak_bytes\": %llu, \"threads\": %u}\n",
           timing.medianMs, timing.minMs, timing.maxMs, timing.runs, model.openMs,
           (unsigned long long)stats.peak_bytes, stats.threads);
  return text;
}

std::string timingText(const Timing &timing, const Model &model) {
  char text[512];
  tcc_context_stats stats = model.stats();
  snprintf(text, sizeof text,
           "median %.3f ms, min %.3f ms, max %.3f ms over %zu runs on %u threads; opened in %.2f "
           "ms; peak %.1f MB besides weights and inputs\n",
           timing.medianMs, timing.minMs, timing.maxMs, timing.runs, stats.threads, model.openMs,
           double(stats.peak_bytes) / 1e6);
  return text;
}

/// A kernel that is launched in many places computes many nodes.
static std::string shortened(const std::string &nodes) {
  constexpr size_t shown = 100;
  return printable(nodes.size() > shown ? nodes.substr(0, shown) + "..." : nodes);
}

std::string profileText(const Model &model) {
  std::vector<tcc_kernel_info> kernels = model.kernels();
  std::sort(kernels.begin(), kernels.end(),
            [](const auto &a, const auto &b) { return a.nanoseconds > b.nanoseconds; });
  double total = 0;
  for (const tcc_kernel_info &kernel : kernels)
    total += double(kernel.nanoseconds);
  double runs = std::max<double>(1, double(model.stats().runs));
  std::string text = "  ms/run   share  calls/run  kernel: nodes of the model\n";
  for (const tcc_kernel_info &kernel : kernels) {
    char line[96];
    snprintf(line, sizeof line, "%8.4f  %5.1f%%  %9.1f  ", double(kernel.nanoseconds) / runs / 1e6,
             total > 0 ? 100 * double(kernel.nanoseconds) / total : 0, double(kernel.calls) / runs);
    text += line + printable(kernel.name) + ": " + shortened(kernel.sources) + "\n";
  }
  return text;
}

} // namespace tcc::run
