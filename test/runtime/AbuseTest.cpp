// Whatever a caller says of its tensors, and whatever order its threads work in: a result that is
// right, or a code and a text. Seeded; the memory behind every tensor reaches as far as any of the
// descriptions that may be accepted, so that the sanitizers see what the runtime itself does wrong.
#include "Fixture.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string_view>
#include <thread>

using namespace rt;

namespace {

constexpr int64_t kReach = 1 << 19; ///< bytes on either side of a tensor's data

class Abuser {
public:
  explicit Abuser(unsigned seed) : random(seed), memory(5, std::vector<char>(2 * kReach)) {
    for (int64_t at = 0; at < 2 * kReach; at += 4) {
      float value = float(at / 4 % 97);
      std::memcpy(memory[0].data() + at, &value, 4);
    }
  }

  /// One run with a few fields changed; what is wrong with its end, or nothing.
  std::string_view attempt(Context &context) {
    Inputs in(1 + random() % 5, random() % 5, random() % 7);
    dims.assign(5, std::vector<int64_t>(64, 1));
    strides.assign(5, std::vector<int64_t>(64, 1));
    for (size_t i = 0; i < 5; ++i)
      describe(in, i);
    for (size_t changes = random() % 4; changes > 0; --changes)
      change(in, random() % 5);
    Outputs out;
    context.error = {-1, "unset"};
    tcc_status status = context.run(in, out);
    return status ? checkFailure(status, context.error, out) : checkResult(in, out);
  }
  unsigned succeeded = 0, failed = 0;

private:
  int64_t pick(std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  }

  /// The same sizes in memory of our own, with strides of any sign or none.
  void describe(Inputs &in, size_t i) {
    DLTensor &t = in.tensors[i];
    std::copy_n(t.shape, t.ndim, dims[i].begin());
    t.shape = dims[i].data();
    t.data = memory[i].data() + kReach;
    for (int64_t &stride : strides[i])
      stride = pick({-40, -3, -1, 0, 1, 2, 5, 64});
    if (i == 4) // what is written must be one place for each element
      strides[i][0] = pick({-7, -1, 1, 3});
    t.strides = random() % 3 ? strides[i].data() : nullptr;
    t.byte_offset = random() % 2 ? pick({0, 1, 3, 4, 64}) : 0;
    if (i == 3)
      t.byte_offset = 0; // the command stays Normal
  }

  void change(Inputs &in, size_t i) {
    DLTensor &t = in.tensors[i];
    size_t axis = random() % 3;
    switch (random() % 10) {
    case 0:
      t.ndim = int32_t(pick({-1, 0, 1, 2, 3, 64, 65, INT32_MIN, INT32_MAX}));
      break;
    case 1:
      dims[i][axis] = pick({-1, 0, 1, 2, 1001, INT64_MAX, INT64_MIN, INT64_MAX / 2});
      break;
    case 2:
      t.dtype.code = uint8_t(random());
      break;
    case 3:
      t.dtype.bits = uint8_t(pick({0, 1, 3, 4, 8, 16, 32, 64, 128, 255}));
      break;
    case 4:
      t.dtype.lanes = uint16_t(pick({0, 1, 2, 65535}));
      break;
    case 5:
      t.data = nullptr;
      break;
    case 6:
      t.device.device_type = DLDeviceType(pick({0, 1, 2, 3, 10, 13, -1, INT32_MAX}));
      break;
    case 7:
      t.shape = nullptr;
      break;
    case 8:
      in.pointers[i] = nullptr;
      break;
    case 9:
      if (dims[i][axis] == 1) // not walked: any stride will do
        strides[i][axis] = pick({INT64_MAX, INT64_MIN});
      break;
    }
  }

  std::string_view checkFailure(tcc_status status, const tcc_error &error, const Outputs &out) {
    ++failed;
    std::string_view text(error.message, strnlen(error.message, sizeof error.message));
    if (status < TCC_OK || status > TCC_INTERNAL || error.code != status)
      return "a code that is none";
    if (text.empty() || text.size() == sizeof error.message || text.find('\n') != text.npos)
      return "no text of one line";
    bool none = std::all_of(out.tensors.begin(), out.tensors.end(), [](auto *t) { return !t; });
    return none ? "" : "an output of a failed run";
  }

  std::string_view checkResult(const Inputs &in, const Outputs &out) {
    ++succeeded;
    const DLTensor &x = in.tensors[0];
    for (int64_t i = 0, at = 0; i < x.shape[0]; ++i)
      for (int64_t j = 0; j < x.shape[1]; ++j, ++at) {
        int64_t walk = x.strides ? (x.shape[0] == 1 ? 0 : i * x.strides[0]) +
                                       (x.shape[1] == 1 ? 0 : j * x.strides[1])
                                 : at;
        float value;
        std::memcpy(&value, static_cast<char *>(x.data) + x.byte_offset + walk * 4, 4);
        float expected = value * 2.5f;
        if (std::memcmp(&out.data<float>(0)[at], &expected, 4))
          return "another result";
      }
    return "";
  }

  std::mt19937 random;
  std::vector<std::vector<char>> memory;
  std::vector<std::vector<int64_t>> dims, strides;
};

} // namespace

TEST_CASE("whatever a tensor is said to be, from many threads at once") {
  Model model;
  std::vector<std::string> faults(4);
  std::vector<unsigned> good(4), bad(4);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Context context(model, withThreads(1 + t % 2));
      Abuser abuser(t);
      for (int i = 0; i < 2000 && faults[t].empty(); ++i)
        faults[t] = abuser.attempt(context);
      good[t] = abuser.succeeded;
      bad[t] = abuser.failed;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (unsigned t = 0; t < 4; ++t) {
    CHECK(faults[t].empty());
    CHECK(good[t] > 200);
    CHECK(bad[t] > 200);
  }
}

TEST_CASE("a pool may run the tasks in any order, on any thread, or one after the other") {
  Model model;
  Inputs in(300, 20, 40);
  Outputs expected;
  Context plain(model, withThreads(1));
  REQUIRE(plain.run(in, expected) == TCC_OK);
  using Task = void (*)(void *, size_t);
  auto backwards = [](void *, Task task, void *argument, size_t count) {
    while (count-- > 0)
      task(argument, count);
  };
  auto shuffled = [](void *user, Task task, void *argument, size_t count) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t(0));
    std::shuffle(order.begin(), order.end(), *static_cast<std::mt19937 *>(user));
    std::thread other([&] {
      for (size_t i = 0; i < count; i += 2)
        task(argument, order[i]);
    });
    for (size_t i = 1; i < count; i += 2)
      task(argument, order[i]);
    other.join();
  };
  std::mt19937 random(5);
  for (uint32_t concurrency : {0u, 1u, 2u, 7u, 1000u, UINT32_MAX})
    for (bool backward : {true, false}) {
      tcc_context_options options = {};
      options.thread_pool = {backward ? +backwards : +shuffled, &random, concurrency};
      Context context(model, options);
      if (context.status != TCC_OK) { // a number beyond reason may be refused
        CHECK(context.error.code == TCC_INVALID_ARGUMENT);
        continue;
      }
      Outputs out;
      REQUIRE(context.run(in, out) == TCC_OK);
      CHECK(!std::memcmp(out.data<float>(0), expected.data<float>(0), 300 * 20 * 4));
      CHECK(!std::memcmp(out.data<float>(1), expected.data<float>(1), 300 * 4));
      CHECK(!std::memcmp(out.data<char>(2), expected.data<char>(2), 20));
    }
}
