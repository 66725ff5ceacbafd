// The device's half of the runtime on the simulated device.
#include "DeviceSession.h"

using namespace tcc::test;

TEST_CASE("the simulated device: host and device tensors in any form") {
  Session session;
  INFO(session.error.message);
  REQUIRE(session.status == TCC_OK);
  Inputs in(100);
  Outputs out;
  REQUIRE(session.run(in, out) == TCC_OK);
  CHECK(right(in, out, 1));
  CHECK(in.acc[99] == 102);
}

TEST_CASE("the simulated device: strided and unaligned tensors go over the host") {
  Session session;
  std::vector<uint8_t> wide(300);
  std::iota(wide.begin(), wide.end(), 0);
  int64_t strides[] = {3};
  Inputs in(100);
  in.tensors[0].data = wide.data();
  in.tensors[0].strides = strides;
  Outputs out;
  REQUIRE(session.run(in, out) == TCC_OK);
  CHECK(out.bytes(0)[20] == uint8_t(60 + 12));
  // The same from the device, into one that is strided there; what lies between stays.
  Remote x(wide), acc(wide, 3), y(std::vector<uint8_t>(300, 9));
  int64_t backwards[] = {-2};
  in.tensors[0] = x.tensor;
  in.tensors[0].shape = in.n.data();
  in.tensors[0].strides = strides;
  in.tensors[2] = acc.tensor;
  in.tensors[2].shape = in.n.data();
  DLManagedTensor given = {y.tensor, nullptr, nullptr};
  given.dl_tensor.shape = in.n.data();
  given.dl_tensor.strides = backwards;
  given.dl_tensor.byte_offset = 198;
  Outputs theirs;
  theirs.tensors[0] = &given;
  INFO(session.error.message);
  REQUIRE(session.run(in, theirs, TCC_RUN_OUTPUTS_ON_DEVICE) == TCC_OK);
  CHECK(y.bytes(300)[198 - 40] == 60 + 12);
  CHECK(y.bytes(300)[198 - 41] == 9);
  CHECK(acc.bytes(300)[2] == 2);
  CHECK(acc.bytes(300)[3 + 99] == 3 + 99 + 2);
  CHECK(acc.bytes(300)[3 + 100] == 3 + 100);
  // Beyond its end there is nothing.
  in.tensors[0].byte_offset = 400;
  CHECK(session.run(in, theirs) == TCC_INVALID_ARGUMENT);
}

TEST_CASE("the simulated device: outputs on the device") {
  Outputs out;
  {
    Session session;
    Inputs in(100);
    REQUIRE(session.run(in, out, TCC_RUN_OUTPUTS_ON_DEVICE) == TCC_OK);
  }
  Remote any(std::vector<uint8_t>(4));
  uint8_t back[100];
  REQUIRE(driver.copy_out(any.device, any.stream, back,
                          reinterpret_cast<tcc_device_address>(out.bytes(0)), 100,
                          nullptr) == TCC_OK);
  CHECK(back[99] == 100 + 12);
  CHECK(out.tensors[2]->dl_tensor.device.device_type == kDLExtDev);
}

TEST_CASE("the simulated device: inputs that were placed there") {
  Session session;
  Inputs in(100);
  DLManagedTensor *placed = nullptr;
  REQUIRE(tcc_context_place(session.context, in.pointers[0], &placed, nullptr) == TCC_OK);
  CHECK(placed->dl_tensor.device.device_type == kDLExtDev);
  in.pointers[0] = &placed->dl_tensor;
  for (int run = 1; run < 4; ++run) {
    Outputs out;
    REQUIRE(session.run(in, out) == TCC_OK);
    CHECK(right(in, out, run));
  }
  placed->deleter(placed);
  CHECK(tcc_context_place(session.context, in.pointers[3], &placed, &session.error) ==
        TCC_INVALID_ARGUMENT);
  CHECK(placed == nullptr);
}

TEST_CASE("the simulated device: a profile counts every launch") {
  tcc_context_options options = {};
  options.profile = TCC_PROFILE_KERNELS | TCC_PROFILE_DEVICE;
  Session session(options);
  Inputs in(100);
  Outputs out;
  REQUIRE(session.run(in, out) == TCC_OK);
  tcc_kernel_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(tcc_context_kernel(session.context, 0, &info) == TCC_OK);
  CHECK(std::string(info.name) == "k");
  CHECK(std::string(info.sources) == "add_1, add_2");
  CHECK(info.calls == 6);
  CHECK(info.nanoseconds > 0);
  CHECK(session.stats().device_nanoseconds >= info.nanoseconds);
  CHECK(tcc_context_kernel(session.context, 1, &info) == TCC_INVALID_ARGUMENT);
}
