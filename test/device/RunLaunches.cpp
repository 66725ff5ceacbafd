// Replays on a GPU what PackLaunches packed: run-launches FOLDER. One line a launch: whether the
// results are right, how far they are off, and for large ones the median time of a launch between
// events, with the rates that follow from its flops and bytes. Exit code 1 if any is wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>
extern "C" {
#include "Device.h"
}

namespace {

tcc_device *device;
tcc_device_stream *stream;
tcc_error error;

void need(tcc_status status) {
  if (status == TCC_OK)
    return;
  std::printf("%s\n", error.message);
  std::exit(3);
}

std::vector<char> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned bytesOf(const std::string &dtype) {
  if (dtype == "bool")
    return 1;
  if (dtype.substr(0, 2) == "f8" || dtype.substr(0, 2) == "f4")
    return 1;
  unsigned bits = std::stoi(dtype.substr(dtype.find_first_of("0123456789")));
  return std::max(1u, bits / 8);
}

float ofBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float v;
  std::memcpy(&v, &wide, 4);
  return v;
}
float ofF16(uint16_t h) {
  int exponent = h >> 10 & 31, mantissa = h & 1023;
  float v = exponent == 31  ? (mantissa ? NAN : INFINITY)
            : exponent == 0 ? std::ldexp(float(mantissa), -24)
                            : std::ldexp(float(mantissa + 1024), exponent - 25);
  return h & 0x8000 ? -v : v;
}

/// How element i of a tensor of `dtype` is read. 8-bit floats are their bits.
using Reader = double (*)(const char *bytes, size_t i);
template <typename T> T at(const char *bytes, size_t i) {
  T v;
  std::memcpy(&v, bytes + i * sizeof v, sizeof v);
  return v;
}
Reader readerOf(const std::string &dtype) {
  static const std::map<std::string, Reader> readers = {
      {"f64", [](const char *b, size_t i) { return at<double>(b, i); }},
      {"f32", [](const char *b, size_t i) { return double(at<float>(b, i)); }},
      {"bf16", [](const char *b, size_t i) { return double(ofBf16(at<uint16_t>(b, i))); }},
      {"f16", [](const char *b, size_t i) { return double(ofF16(at<uint16_t>(b, i))); }},
      {"i64", [](const char *b, size_t i) { return double(at<int64_t>(b, i)); }},
      {"i32", [](const char *b, size_t i) { return double(at<int32_t>(b, i)); }},
      {"i16", [](const char *b, size_t i) { return double(at<int16_t>(b, i)); }},
      {"i8", [](const char *b, size_t i) { return double(at<int8_t>(b, i)); }},
  };
  auto found = readers.find(dtype);
  return found != readers.end() ? found->second
                                : [](const char *b, size_t i) { return double(at<uint8_t>(b, i)); };
}

/// Values in [-1, 1) of a small generator; of integers, small numbers. They repeat themselves after
/// a prime number of elements, so that large operands are made in no time and no tile has what the
/// one beside it has.
std::vector<char> randomBytes(const std::string &dtype, size_t count, uint32_t seed) {
  constexpr size_t kPeriod = 1048573;
  unsigned size = bytesOf(dtype);
  std::vector<char> bytes(count * size);
  uint32_t state = seed * 2654435761u + 12345u;
  for (size_t i = 0; i < std::min(count, kPeriod); ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    float v = float(int32_t(state)) * 0x1p-31f;
    if (dtype == "f32") {
      std::memcpy(&bytes[i * 4], &v, 4);
    } else if (dtype == "bf16") {
      uint32_t bits;
      std::memcpy(&bits, &v, 4);
      uint16_t half = uint16_t(bits >> 16);
      std::memcpy(&bytes[i * 2], &half, 2);
    } else if (dtype == "f16") {
      uint16_t half = uint16_t((state >> 31 << 15) | (14 << 10) | (state & 1023)); // 0.5 to 1
      std::memcpy(&bytes[i * 2], &half, 2);
    } else {
      bytes[i * size] = char(state % 7);
    }
  }
  for (size_t i = kPeriod; i < count; i += kPeriod)
    std::memcpy(&bytes[i * size], bytes.data(), std::min(kPeriod, count - i) * size);
  return bytes;
}

struct Output {
  std::string dtype;
  size_t count;
  int64_t offset;
  double tolerance;
  tcc_device_address memory;
  std::vector<char> have;
};

struct Launch {
  std::string name, cubin, like;
  long blocks = 0;
  unsigned threads = 0, shared = 0, scratch = 0;
  double flops = 0, bytes = 0;
  std::vector<uint64_t> words;
  std::vector<size_t> inputWords, outputWords;
  std::vector<Output> outputs;
  struct Map {
    int ofResult;
    unsigned index;
    tcc_tensor_map map;
  };
  std::vector<Map> maps;
  std::vector<tcc_device_address> owned;
};

std::map<std::string, std::vector<char>> results; // of launches that others are compared with

tcc_device_address upload(Launch &launch, const char *bytes, size_t size) {
  tcc_device_address memory;
  need(tcc_cuda.alloc(device, size, &memory, &error));
  launch.owned.push_back(memory);
  if (bytes)
    need(tcc_cuda.copy_in(device, stream, memory, bytes, size, &error));
  need(tcc_cuda.synchronize(device, stream, &error));
  return memory;
}

double distance(const Output &output, const char *want) {
  double largest = 0, furthest = 0;
  Reader read = readerOf(output.dtype);
  for (size_t i = 0; i < output.count; ++i) {
    double h = read(output.have.data(), i), w = read(want, i);
    if (std::isfinite(w))
      largest = std::max(largest, std::abs(w));
    if (h == w || (std::isnan(h) && std::isnan(w)))
      continue;
    if (!std::isfinite(h) || !std::isfinite(w))
      return INFINITY;
    furthest = std::max(furthest, std::abs(h - w));
  }
  return furthest == 0 ? 0 : furthest / std::max(largest, 1e-30);
}

/// Microseconds: the median of several batches of launches.
double timeOf(const tcc_device_launch &work) {
  tcc_device_event *from, *to;
  need(tcc_cuda.event_create(device, &from, &error));
  need(tcc_cuda.event_create(device, &to, &error));
  auto batch = [&](int count) {
    need(tcc_cuda.event_record(device, stream, from, &error));
    for (int i = 0; i < count; ++i)
      need(tcc_cuda.launch(device, stream, &work, &error));
    need(tcc_cuda.event_record(device, stream, to, &error));
    float ms;
    need(tcc_cuda.event_milliseconds(device, from, to, &ms, &error));
    return double(ms) * 1e3 / count;
  };
  double once = batch(2);
  int count = std::max(1, std::min(50, int(20000 / std::max(once, 1.0))));
  std::vector<double> times;
  for (int i = 0; i < 7; ++i)
    times.push_back(batch(count));
  std::sort(times.begin(), times.end());
  tcc_cuda.event_destroy(device, from);
  tcc_cuda.event_destroy(device, to);
  return times[times.size() / 2];
}

bool run(Launch &launch, const std::string &folder, const std::vector<char> &data) {
  if (launch.scratch) {
    std::vector<char> zeros(launch.scratch);
    launch.words.push_back(upload(launch, zeros.data(), zeros.size()));
  }
  std::vector<char> image = readFile(folder + "/" + launch.cubin);
  tcc_device_code *code;
  tcc_device_kernel *kernel;
  need(tcc_cuda.load(device, image.data(), &code, &error));
  tcc_device_image loaded = {};
  loaded.shared_bytes = launch.shared;
  bool narrow;
  need(tcc_cuda.kernel(device, code, "k", &loaded, &kernel, &narrow, &error));
  std::vector<tcc_encoded_tensor_map> maps;
  for (Launch::Map &map : launch.maps) {
    map.map.memory =
        launch.words[(map.ofResult ? launch.outputWords : launch.inputWords)[map.index]];
    need(tcc_cuda.tensor_map(device, &map.map, &maps.emplace_back(), &error));
  }
  tcc_device_launch work = {kernel,
                            uint32_t(launch.blocks),
                            launch.threads,
                            launch.shared,
                            launch.words.data(),
                            uint32_t(launch.words.size()),
                            uint32_t(maps.size()),
                            maps.data(),
                            /*waits=*/false};
  need(tcc_cuda.launch(device, stream, &work, &error));
  need(tcc_cuda.synchronize(device, stream, &error));
  bool right = true;
  double far = 0;
  for (Output &output : launch.outputs) {
    output.have.resize(output.count * bytesOf(output.dtype));
    need(tcc_cuda.copy_out(device, stream, output.have.data(), output.memory, output.have.size(),
                           &error));
    need(tcc_cuda.synchronize(device, stream, &error));
    const char *want = nullptr;
    if (output.offset >= 0)
      want = data.data() + output.offset;
    else if (!launch.like.empty())
      want = results[launch.like].data();
    if (want)
      far = std::max(far, distance(output, want));
    right &= !want || far <= output.tolerance;
  }
  std::printf("%-44s %-5s off %.1e", launch.name.c_str(), right ? "ok" : "WRONG", far);
  if (launch.bytes > 0) {
    double us = timeOf(work);
    std::printf("  %9.1f us %6.0f GB/s", us, launch.bytes / us * 1e-3);
    if (launch.flops > 0)
      std::printf(" %6.1f TFLOP/s", launch.flops / us * 1e-6);
    if (launch.like.empty() && !launch.outputs.empty())
      results[launch.name] = launch.outputs[0].have;
  }
  std::printf("\n");
  std::fflush(stdout);
  for (tcc_device_address memory : launch.owned)
    tcc_cuda.free(device, memory);
  tcc_cuda.unload(device, code);
  return right;
}

/// What follows "map" in a line of the list.
Launch::Map readMap(std::istream &in) {
  Launch::Map read{};
  tcc_tensor_map &map = read.map;
  map.element_bytes = 2;
  in >> read.ofResult >> read.index >> map.rank;
  for (uint32_t i = 0; i < map.rank; ++i)
    in >> map.extents[i] >> map.box[i];
  map.swizzle_bytes = map.element_bytes * map.box[map.rank - 1];
  std::fill_n(map.steps, map.rank, 1);
  in >> map.window.pixels;
  uint32_t spatial = map.window.pixels ? map.rank - 2 : 0;
  for (uint32_t i = 0; i < spatial; ++i)
    in >> map.steps[i + 1];
  for (uint32_t i = 0; i < spatial; ++i)
    in >> map.window.low[i];
  for (uint32_t i = 0; i < spatial; ++i)
    in >> map.window.high[i];
  return read;
}

/// What a copy on the device reaches, read and written.
void copyRate() {
  constexpr size_t kBytes = size_t(256) << 20;
  tcc_device_address from, to;
  need(tcc_cuda.alloc(device, kBytes, &from, &error));
  need(tcc_cuda.alloc(device, kBytes, &to, &error));
  tcc_device_event *begin, *end;
  need(tcc_cuda.event_create(device, &begin, &error));
  need(tcc_cuda.event_create(device, &end, &error));
  float ms = 0;
  for (int i = 0; i < 3; ++i) {
    need(tcc_cuda.event_record(device, stream, begin, &error));
    for (int j = 0; j < 10; ++j)
      need(tcc_cuda.copy(device, stream, to, from, kBytes, &error));
    need(tcc_cuda.event_record(device, stream, end, &error));
    need(tcc_cuda.event_milliseconds(device, begin, end, &ms, &error));
  }
  std::printf("device copy of 256 MiB: %.0f GB/s read and written\n", 20.0 * kBytes / ms * 1e-6);
  tcc_cuda.free(device, from);
  tcc_cuda.free(device, to);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: run-launches FOLDER\n");
    return 2;
  }
  std::string folder = argv[1];
  tcc_device_info info;
  need(tcc_cuda.open(0, &device, &info, &error));
  need(tcc_cuda.stream_create(device, &stream, &error));
  std::printf("%s, sm_%d, %d multiprocessors, %d bytes of shared memory\n", info.name,
              info.capability, info.multiprocessors, info.shared_bytes);
  copyRate();
  std::vector<char> data = readFile(folder + "/data");
  std::ifstream list(folder + "/launches");
  std::string line, word;
  Launch launch;
  int wrong = 0, count = 0;
  while (std::getline(list, line)) {
    std::istringstream in(line);
    in >> word;
    if (word == "launch") {
      launch = Launch();
      in >> launch.name >> launch.cubin >> launch.blocks >> launch.threads >> launch.shared >>
          launch.flops >> launch.bytes >> launch.scratch;
    } else if (word == "map") {
      launch.maps.push_back(readMap(in));
    } else if (word == "word") {
      uint64_t value;
      in >> value;
      launch.words.push_back(value);
    } else if (word == "input") {
      size_t offset, size;
      in >> offset >> size;
      launch.inputWords.push_back(launch.words.size());
      launch.words.push_back(upload(launch, data.data() + offset, size));
    } else if (word == "random") {
      std::string dtype;
      size_t elements;
      uint32_t seed;
      in >> dtype >> elements >> seed;
      std::vector<char> bytes = randomBytes(dtype, elements, seed);
      launch.inputWords.push_back(launch.words.size());
      launch.words.push_back(upload(launch, bytes.data(), bytes.size()));
    } else if (word == "output") {
      Output output{};
      in >> output.dtype >> output.count >> output.offset >> output.tolerance;
      std::vector<char> before(output.count * bytesOf(output.dtype), char(0xA5));
      output.memory = upload(launch, before.data(), before.size());
      launch.outputWords.push_back(launch.words.size());
      launch.words.push_back(output.memory);
      launch.outputs.push_back(output);
    } else if (word == "like") {
      in >> launch.like;
    } else if (word == "end") {
      wrong += !run(launch, folder, data);
      ++count;
    }
  }
  std::printf("%d launches, %d wrong\n", count, wrong);
  tcc_cuda.stream_destroy(device, stream);
  tcc_cuda.close(device);
  return wrong || !count; // a folder without launches is not one that pack-launches made
}
