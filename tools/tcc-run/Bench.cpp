#include "Bench.h"
#include <algorithm>
#include <chrono>

namespace tcc::run {

using Clock = std::chrono::steady_clock;

static double msSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

static double timeOne(Model &model, const std::vector<DLTensor> &inputs, bool there) {
  auto begin = Clock::now();
  Outputs outputs = model.run(inputs, there);
  return msSince(begin);
}

static double medianOf(std::vector<double> &times) {
  std::sort(times.begin(), times.end());
  size_t n = times.size();
  return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

Timing bench(Model &model, const std::vector<DLTensor> &given, double seconds) {
  bool there = model.onDevice();
  Outputs owners(given.size());
  std::vector<DLTensor> inputs = there ? model.place(given, owners) : given;
  auto warmUp = Clock::now();
  for (int i = 0; i < 2 || msSince(warmUp) < std::min(seconds * 200, 500.); ++i)
    timeOne(model, inputs, there);
  std::vector<double> times, deviceTimes;
  auto begin = Clock::now();
  while (times.size() < 3 || msSince(begin) < seconds * 1000) {
    times.push_back(timeOne(model, inputs, there));
    deviceTimes.push_back(double(model.stats().device_nanoseconds) / 1e6);
  }
  double median = medianOf(times);
  return {median, times.front(), times.back(), times.size(), medianOf(deviceTimes)};
}

std::string timingJson(const Timing &timing, const Model &model) {
  char text[512];
  tcc_context_stats stats = model.stats();
  char device[128] = "";
  if (model.onDevice())
    snprintf(device, sizeof device, ", \"device_ms\": %.6f, \"device_peak_bytes\": %llu",
             timing.deviceMs, (unsigned long long)stats.device_peak_bytes);
  snprintf(text, sizeof text,
           "{\"median_ms\": %.6f, \"min_ms\": %.6f, \"max_ms\": %.6f, \"runs\": %zu, "
           "\"open_ms\": %.3f, \"peak_bytes\": %llu, \"threads\": %u%s}\n",
           timing.medianMs, timing.minMs, timing.maxMs, timing.runs, model.openMs,
           (unsigned long long)stats.peak_bytes, stats.threads, device);
  return text;
}

std::string timingText(const Timing &timing, const Model &model) {
  char text[512];
  tcc_context_stats stats = model.stats();
  if (model.onDevice()) {
    snprintf(text, sizeof text,
             "median %.3f ms, of which the device took %.3f ms; min %.3f ms, max %.3f ms over %zu "
             "runs; opened in %.2f ms; peak %.1f MB on the device\n",
             timing.medianMs, timing.deviceMs, timing.minMs, timing.maxMs, timing.runs,
             model.openMs, double(stats.device_peak_bytes) / 1e6);
    return text;
  }
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
