// Wrong use and failures: a code, a text that says what is wrong, no leak, and the objects go on
// working.
#include "Fixture.h"
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>
#include <thread>

using namespace rt;

namespace {

/// Counts what it gives out and can run dry.
struct Allocator {
  std::mutex lock;
  std::map<void *, size_t> live;
  int64_t left = INT64_MAX; ///< calls until it fails
  size_t wrongFrees = 0, misaligned = 0;

  static void *alloc(void *user, size_t size, size_t alignment) {
    auto &self = *static_cast<Allocator *>(user);
    std::lock_guard guard(self.lock);
    if (self.left-- <= 0)
      return nullptr;
    void *memory = nullptr;
    if (posix_memalign(&memory, alignment, size))
      return nullptr;
    self.misaligned += alignment < 64;
    self.live[memory] = size;
    return memory;
  }

  static void release(void *user, void *pointer, size_t size) {
    auto &self = *static_cast<Allocator *>(user);
    std::lock_guard guard(self.lock);
    auto it = self.live.find(pointer);
    self.wrongFrees += it == self.live.end() || it->second != size;
    self.live.erase(pointer);
    free(pointer);
  }

  tcc_context_options options(uint32_t threads = 1) {
    tcc_context_options options = withThreads(threads);
    options.allocator = {alloc, release, this};
    return options;
  }
};

std::string runError(Inputs &in, tcc_status expected = TCC_INVALID_ARGUMENT) {
  Model model;
  Context context(model, withThreads(1));
  Outputs out;
  CHECK(context.run(in, out) == expected);
  CHECK(context.error.code == expected);
  for (DLManagedTensor *t : out.tensors)
    CHECK(t == nullptr);
  return context.error.message;
}

} // namespace

TEST_CASE("inputs that do not fit are named") {
  Inputs in(4, 2, 3);
  SECTION("dtype") {
    in.tensors[0].dtype = {kDLFloat, 64, 1};
    CHECK(runError(in) == "input 'x': expected float32[N, ?], got float64[4, 2]");
  }
  SECTION("rank") {
    in.tensors[1].ndim = 1;
    CHECK(runError(in) == "input 'y': expected float32[N, 3], got float32[4]");
  }
  SECTION("static dim") {
    in.yShape[1] = 4;
    CHECK(runError(in) == "input 'y': expected float32[N, 3], got float32[4, 4]");
  }
  SECTION("symbol") {
    in.yShape[0] = 3;
    CHECK(runError(in) == "input 'y': dimension 0 (N) is 3, but N is 4 in input 'x'");
  }
  SECTION("range") {
    in.xShape[0] = 1001;
    CHECK(runError(in) == "input 'x': dimension 0 (N) is 1001, this model takes 1 to 1000");
  }
  SECTION("negative") {
    in.xShape[1] = -2;
    CHECK(runError(in) == "input 'x': a dimension is negative, or the size overflows");
  }
  SECTION("overflow") {
    in.xShape = {1000, INT64_MAX / 4};
    CHECK(runError(in) == "input 'x': a dimension is negative, or the size overflows");
  }
  SECTION("rank beyond reason") {
    in.tensors[0].ndim = 1000;
    CHECK(runError(in) == "input 'x': 1000 dimensions, from 0 to 64 are possible");
  }
  SECTION("device") {
    in.tensors[0].device.device_type = kDLCUDA;
    CHECK(runError(in) == "input 'x' lies on device type 2: copy it to the CPU first");
  }
  SECTION("no data") {
    in.tensors[2].data = nullptr;
    CHECK(runError(in) == "input 'nibbles': data is NULL");
  }
  SECTION("no tensor") {
    in.pointers[3] = nullptr;
    CHECK(runError(in) == "input 'command' is NULL");
  }
}

TEST_CASE("a model's failure leaves the context usable") {
  Model model;
  Context context(model, withThreads(2));
  Inputs in(30, 30, 30);
  auto [command, status, message] = GENERATE(table<int, int, std::string>({
      {FailInHost, TCC_MODEL_ERROR, "node 'gather_1': index 7 is out of range for 5 rows"},
      {FailByCode, TCC_MODEL_ERROR, "the model failed with code 6"},
      {FailAlloc, TCC_OUT_OF_MEMORY, "no memory for a tensor of 1125899906842624 bytes"},
      {FailOverflow, TCC_OUT_OF_MEMORY, "the size of a tensor overflows"},
      {ForgetOutput, TCC_INTERNAL, "output 'count' was not computed"},
      {FailAfterAllocs, TCC_MODEL_ERROR, "late"},
  }));
  for (int round = 0; round < 20; ++round) {
    Outputs out;
    in.command = command;
    REQUIRE(context.run(in, out) == status);
    CHECK(context.error.message == message);
    CHECK(out.tensors[0] == nullptr);
    in.command = Normal;
    REQUIRE(context.run(in, out) == TCC_OK);
  }
  CHECK(context.stats().runs == 20);
}

TEST_CASE("an output of the wrong shape is refused") {
  Model model;
  Context context(model, withThreads(1));
  Inputs in(3, 2, 1);
  std::vector<float> rows(4);
  std::vector<int64_t> shape = {4};
  DLManagedTensor own = {};
  own.dl_tensor = tensor(rows.data(), {kDLFloat, 32, 1}, shape);
  Outputs out;
  out.tensors[1] = &own;
  CHECK(context.run(in, out) == TCC_INVALID_ARGUMENT);
  CHECK(std::string(context.error.message) ==
        "output 'rows': this run gives float32[3], the tensor passed in is float32[4]");
  CHECK(out.tensors[0] == nullptr);
}

TEST_CASE("wrong calls are refused") {
  Model model;
  Context context(model, withThreads(1));
  Inputs in(1, 1, 1);
  Outputs out;
  tcc_error error;
  auto run = [&](tcc_context *c, const DLTensor *const *i, uint32_t ni, DLManagedTensor **o,
                 uint32_t no) { return api().run(c, i, ni, o, no, &error); };
  CHECK(run(nullptr, in.pointers.data(), 5, out.tensors.data(), 4) == TCC_INVALID_ARGUMENT);
  CHECK(run(context.context, in.pointers.data(), 4, out.tensors.data(), 4) == TCC_INVALID_ARGUMENT);
  CHECK(std::string(error.message) == "this model takes 5 inputs, got 4");
  CHECK(run(context.context, nullptr, 5, out.tensors.data(), 4) == TCC_INVALID_ARGUMENT);
  CHECK(run(context.context, in.pointers.data(), 5, out.tensors.data(), 3) == TCC_INVALID_ARGUMENT);
  CHECK(api().model_open(nullptr, nullptr, nullptr) == TCC_INVALID_ARGUMENT);
  CHECK(api().context_create(nullptr, nullptr, nullptr, &error) == TCC_INVALID_ARGUMENT);
  tcc_context_options options = {};
  options.struct_size = sizeof options;
  options.allocator.alloc = Allocator::alloc;
  tcc_context *none = nullptr;
  CHECK(api().context_create(model.model, &options, &none, &error) == TCC_INVALID_ARGUMENT);
  CHECK(none == nullptr);
}

TEST_CASE("a second run on a busy context is refused, and so is a seed") {
  Model model;
  Context context(model, withThreads(2));
  std::atomic<int> busy{0}, good{0};
  auto work = [&] {
    Inputs in(2, 2, 2);
    in.command = Slow;
    for (int i = 0; i < 5; ++i) {
      Outputs out;
      tcc_error error;
      tcc_status status =
          api().run(context.context, in.pointers.data(), 5, out.tensors.data(), 4, &error);
      ++(status == TCC_BUSY ? busy : good);
      tcc_status seeded = api().context_set_seed(context.context, 1);
      if ((status != TCC_BUSY && status != TCC_OK) || (seeded != TCC_BUSY && seeded != TCC_OK))
        good = -1000;
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  CHECK(good > 0);
  CHECK(busy + good == 10);
}

TEST_CASE("the caller's allocator gets everything back") {
  Allocator allocator;
  Outputs out;
  {
    Model model;
    Context context(model, allocator.options(2));
    REQUIRE(context.status == TCC_OK);
    Inputs in(100, 10, 10);
    for (int run = 0; run < 5; ++run) {
      out.release();
      REQUIRE(context.run(in, out) == TCC_OK);
    }
    in.command = FailAfterAllocs;
    Outputs none;
    REQUIRE(context.run(in, none) == TCC_MODEL_ERROR);
  }
  CHECK(allocator.live.size() == 4);
  out.release();
  CHECK(allocator.live.empty());
  CHECK(allocator.wrongFrees == 0);
  CHECK(allocator.misaligned == 0);
}

TEST_CASE("an allocator may fail at any call") {
  bool succeeded = false;
  for (int64_t calls = 0; !succeeded; ++calls) {
    REQUIRE(calls < 100);
    Allocator allocator;
    allocator.left = calls;
    {
      Model model;
      Context context(model, allocator.options());
      Inputs in(9, 9, 9);
      Outputs out;
      if (context.status == TCC_OK)
        succeeded = context.run(in, out) == TCC_OK;
      if (!succeeded)
        CHECK(context.error.code == TCC_OUT_OF_MEMORY);
    }
    CHECK(allocator.live.empty());
  }
}

TEST_CASE("an unknown version of the interface is refused") {
  Model model;
  CHECK(api().abi_version == TCC_ABI_VERSION);
}
