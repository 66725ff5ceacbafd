// Loops of recurrent layers whose units blocks of a cluster share (RecurrenceKernel.cpp), each by schedules of its own,
// small enough to be emulated (emulate_launches.py).
func.func @layer(%xs: tensor<4x3x24xf32>, %h0: tensor<3x8xf32>, %c0: tensor<3x8xf32>, %r: tensor<24x8xf32> {test.low = -0.4, test.high = 0.4}) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x3x8xf32>) attributes {test.schedules = [#gpu.schedule<form = line, threads = 32, row_threads = 32, kept = 8, rows = 2, shared_bytes = 448, split = 2, index_bits = 32>, #gpu.schedule<form = line, threads = 32, row_threads = 32, kept = 4, rows = 3, shared_bytes = 592, split = 4, index_bits = 32>]} {
  %zero = arith.constant 0 : index
  %none = prim.constant dense<0.0> : tensor<4x3x8xf32>
  %all:4 = prim.while(%zero, %h0, %c0, %none) {
  ^bb0(%i: index, %h: tensor<3x8xf32>, %c: tensor<3x8xf32>, %o: tensor<4x3x8xf32>):
    %turns = arith.constant 4 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %h: tensor<3x8xf32>, %c: tensor<3x8xf32>, %o: tensor<4x3x8xf32>):
    %one = arith.constant 1 : index
    %last = arith.constant 3 : index
    %place = arith.subi %last, %i : index
    %xr = prim.slice %xs starts [-9223372036854775808, 0, 0](%i) steps [1, 1, 1] sizes() : (tensor<4x3x24xf32>) -> tensor<1x3x24xf32>
    %x = prim.reshape %xr sizes() : (tensor<1x3x24xf32>) -> tensor<3x24xf32>
    %p = prim.dot %h, %r batch [] x [] contract [1] x [1] : (tensor<3x8xf32>, tensor<24x8xf32>) -> tensor<3x24xf32>
    %s = prim.add %x, %p : (tensor<3x24xf32>, tensor<3x24xf32>) -> tensor<3x24xf32>
    %s0 = prim.slice %s starts [0, 0]() steps [1, 1] sizes() : (tensor<3x24xf32>) -> tensor<3x8xf32>
    %s1 = prim.slice %s starts [0, 8]() steps [1, 1] sizes() : (tensor<3x24xf32>) -> tensor<3x8xf32>
    %s2 = prim.slice %s starts [0, 16]() steps [1, 1] sizes() : (tensor<3x24xf32>) -> tensor<3x8xf32>
    %f = prim.logistic %s0 : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %a = prim.tanh %s1 : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %u = prim.logistic %s2 : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %fc = prim.mul %f, %c : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
    %cn = prim.add %fc, %a : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
    %hn = prim.mul %u, %cn : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
    %out = prim.reshape %hn sizes() : (tensor<3x8xf32>) -> tensor<1x3x8xf32>
    %on = prim.insert_slice %o, %out starts [-9223372036854775808, 0, 0](%i) steps [1, 1, 1] : (tensor<4x3x8xf32>, tensor<1x3x8xf32>, index) -> tensor<4x3x8xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %hn, %cn, %on : index, tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x3x8xf32>
  } : (index, tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x3x8xf32>) -> (index, tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x3x8xf32>)
  return %all#1, %all#2, %all#3 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x3x8xf32>
}
func.func @odd_units(%xs: tensor<3x1x33xf32>, %h0: tensor<1x11xf32>, %c0: tensor<1x11xf32>, %r: tensor<33x11xf32> {test.low = -0.4, test.high = 0.4}) -> (tensor<1x11xf32>, tensor<1x11xf32>, tensor<3x1x11xf32>) attributes {test.schedules = [#gpu.schedule<form = line, threads = 32, row_threads = 32, kept = 0, rows = 1, shared_bytes = 1392, split = 4, index_bits = 32>]} {
  %zero = arith.constant 0 : index
  %none = prim.constant dense<0.0> : tensor<3x1x11xf32>
  %all:4 = prim.while(%zero, %h0, %c0, %none) {
  ^bb0(%i: index, %h: tensor<1x11xf32>, %c: tensor<1x11xf32>, %o: tensor<3x1x11xf32>):
    %turns = arith.constant 3 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %h: tensor<1x11xf32>, %c: tensor<1x11xf32>, %o: tensor<3x1x11xf32>):
    %one = arith.constant 1 : index
    %last = arith.constant 2 : index
    %place = arith.subi %last, %i : index
    %xr = prim.slice %xs starts [-9223372036854775808, 0, 0](%place) steps [1, 1, 1] sizes() : (tensor<3x1x33xf32>) -> tensor<1x1x33xf32>
    %x = prim.reshape %xr sizes() : (tensor<1x1x33xf32>) -> tensor<1x33xf32>
    %p = prim.dot %h, %r batch [] x [] contract [1] x [1] : (tensor<1x11xf32>, tensor<33x11xf32>) -> tensor<1x33xf32>
    %s = prim.add %x, %p : (tensor<1x33xf32>, tensor<1x33xf32>) -> tensor<1x33xf32>
    %s0 = prim.slice %s starts [0, 0]() steps [1, 1] sizes() : (tensor<1x33xf32>) -> tensor<1x11xf32>
    %s1 = prim.slice %s starts [0, 11]() steps [1, 1] sizes() : (tensor<1x33xf32>) -> tensor<1x11xf32>
    %s2 = prim.slice %s starts [0, 22]() steps [1, 1] sizes() : (tensor<1x33xf32>) -> tensor<1x11xf32>
    %f = prim.logistic %s0 : (tensor<1x11xf32>) -> tensor<1x11xf32>
    %a = prim.tanh %s1 : (tensor<1x11xf32>) -> tensor<1x11xf32>
    %u = prim.logistic %s2 : (tensor<1x11xf32>) -> tensor<1x11xf32>
    %fc = prim.mul %f, %c : (tensor<1x11xf32>, tensor<1x11xf32>) -> tensor<1x11xf32>
    %cn = prim.add %fc, %a : (tensor<1x11xf32>, tensor<1x11xf32>) -> tensor<1x11xf32>
    %hn = prim.mul %u, %cn : (tensor<1x11xf32>, tensor<1x11xf32>) -> tensor<1x11xf32>
    %out = prim.reshape %hn sizes() : (tensor<1x11xf32>) -> tensor<1x1x11xf32>
    %on = prim.insert_slice %o, %out starts [-9223372036854775808, 0, 0](%place) steps [1, 1, 1] : (tensor<3x1x11xf32>, tensor<1x1x11xf32>, index) -> tensor<3x1x11xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %hn, %cn, %on : index, tensor<1x11xf32>, tensor<1x11xf32>, tensor<3x1x11xf32>
  } : (index, tensor<1x11xf32>, tensor<1x11xf32>, tensor<3x1x11xf32>) -> (index, tensor<1x11xf32>, tensor<1x11xf32>, tensor<3x1x11xf32>)
  return %all#1, %all#2, %all#3 : tensor<1x11xf32>, tensor<1x11xf32>, tensor<3x1x11xf32>
}
func.func @two_products(%xs: tensor<3x2x24xf32>, %h0: tensor<2x8xf32>, %c0: tensor<2x8xf32>, %r: tensor<24x8xf32> {test.low = -0.4, test.high = 0.4}, %w: tensor<8x8xf32> {test.low = -0.4, test.high = 0.4}) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<3x2x8xf32>) attributes {test.schedules = [#gpu.schedule<form = line, threads = 32, row_threads = 32, kept = 16, rows = 1, shared_bytes = 304, split = 2, index_bits = 32>, #gpu.schedule<form = line, threads = 32, row_threads = 32, kept = 0, rows = 2, shared_bytes = 1520, split = 4, index_bits = 32>]} {
  %zero = arith.constant 0 : index
  %none = prim.constant dense<0.0> : tensor<3x2x8xf32>
  %all:4 = prim.while(%zero, %h0, %c0, %none) {
  ^bb0(%i: index, %h: tensor<2x8xf32>, %c: tensor<2x8xf32>, %o: tensor<3x2x8xf32>):
    %turns = arith.constant 3 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %h: tensor<2x8xf32>, %c: tensor<2x8xf32>, %o: tensor<3x2x8xf32>):
    %one = arith.constant 1 : index
    %last = arith.constant 2 : index
    %place = arith.subi %last, %i : index
    %xr = prim.slice %xs starts [-9223372036854775808, 0, 0](%i) steps [1, 1, 1] sizes() : (tensor<3x2x24xf32>) -> tensor<1x2x24xf32>
    %x = prim.reshape %xr sizes() : (tensor<1x2x24xf32>) -> tensor<2x24xf32>
    %p = prim.dot %h, %r batch [] x [] contract [1] x [1] : (tensor<2x8xf32>, tensor<24x8xf32>) -> tensor<2x24xf32>
    %s = prim.add %x, %p : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x24xf32>
    %s0 = prim.slice %s starts [0, 0]() steps [1, 1] sizes() : (tensor<2x24xf32>) -> tensor<2x8xf32>
    %s1 = prim.slice %s starts [0, 8]() steps [1, 1] sizes() : (tensor<2x24xf32>) -> tensor<2x8xf32>
    %s2 = prim.slice %s starts [0, 16]() steps [1, 1] sizes() : (tensor<2x24xf32>) -> tensor<2x8xf32>
    %f = prim.logistic %s0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %a = prim.tanh %s1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %u = prim.logistic %s2 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %fc = prim.mul %f, %c : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %cn = prim.add %fc, %a : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %hn = prim.mul %u, %cn : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %rh = prim.mul %f, %h : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %q = prim.dot %rh, %w batch [] x [] contract [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %b = prim.add %q, %a : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %hw = prim.tanh %b : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %out = prim.reshape %hw sizes() : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %on = prim.insert_slice %o, %out starts [-9223372036854775808, 0, 0](%i) steps [1, 1, 1] : (tensor<3x2x8xf32>, tensor<1x2x8xf32>, index) -> tensor<3x2x8xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %hw, %cn, %on : index, tensor<2x8xf32>, tensor<2x8xf32>, tensor<3x2x8xf32>
  } : (index, tensor<2x8xf32>, tensor<2x8xf32>, tensor<3x2x8xf32>) -> (index, tensor<2x8xf32>, tensor<2x8xf32>, tensor<3x2x8xf32>)
  return %all#1, %all#2, %all#3 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<3x2x8xf32>
}
func.func @narrow(%xs: tensor<3x2x24xf16>, %h0: tensor<2x8xf16>, %c0: tensor<2x8xf16>, %r: tensor<24x8xf16> {test.low = -0.4, test.high = 0.4}) -> (tensor<2x8xf16>, tensor<2x8xf16>, tensor<3x2x8xf16>) attributes {test.schedules = [#gpu.schedule<form = line, threads = 32, row_threads = 32, kept = 4, rows = 2, shared_bytes = 448, split = 2, index_bits = 32>]} {
  %zero = arith.constant 0 : index
  %none = prim.constant dense<0.0> : tensor<3x2x8xf16>
  %all:4 = prim.while(%zero, %h0, %c0, %none) {
  ^bb0(%i: index, %h: tensor<2x8xf16>, %c: tensor<2x8xf16>, %o: tensor<3x2x8xf16>):
    %turns = arith.constant 3 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %h: tensor<2x8xf16>, %c: tensor<2x8xf16>, %o: tensor<3x2x8xf16>):
    %one = arith.constant 1 : index
    %last = arith.constant 2 : index
    %place = arith.subi %last, %i : index
    %xr = prim.slice %xs starts [-9223372036854775808, 0, 0](%i) steps [1, 1, 1] sizes() : (tensor<3x2x24xf16>) -> tensor<1x2x24xf16>
    %x = prim.reshape %xr sizes() : (tensor<1x2x24xf16>) -> tensor<2x24xf16>
    %p = prim.dot %h, %r batch [] x [] contract [1] x [1] : (tensor<2x8xf16>, tensor<24x8xf16>) -> tensor<2x24xf16>
    %s = prim.add %x, %p : (tensor<2x24xf16>, tensor<2x24xf16>) -> tensor<2x24xf16>
    %s0 = prim.slice %s starts [0, 0]() steps [1, 1] sizes() : (tensor<2x24xf16>) -> tensor<2x8xf16>
    %s1 = prim.slice %s starts [0, 8]() steps [1, 1] sizes() : (tensor<2x24xf16>) -> tensor<2x8xf16>
    %s2 = prim.slice %s starts [0, 16]() steps [1, 1] sizes() : (tensor<2x24xf16>) -> tensor<2x8xf16>
    %f = prim.logistic %s0 : (tensor<2x8xf16>) -> tensor<2x8xf16>
    %a = prim.tanh %s1 : (tensor<2x8xf16>) -> tensor<2x8xf16>
    %u = prim.logistic %s2 : (tensor<2x8xf16>) -> tensor<2x8xf16>
    %fc = prim.mul %f, %c : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
    %cn = prim.add %fc, %a : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
    %hn = prim.mul %u, %cn : (tensor<2x8xf16>, tensor<2x8xf16>) -> tensor<2x8xf16>
    %out = prim.reshape %hn sizes() : (tensor<2x8xf16>) -> tensor<1x2x8xf16>
    %on = prim.insert_slice %o, %out starts [-9223372036854775808, 0, 0](%i) steps [1, 1, 1] : (tensor<3x2x8xf16>, tensor<1x2x8xf16>, index) -> tensor<3x2x8xf16>
    %after = arith.addi %i, %one : index
    prim.yield %after, %hn, %cn, %on : index, tensor<2x8xf16>, tensor<2x8xf16>, tensor<3x2x8xf16>
  } : (index, tensor<2x8xf16>, tensor<2x8xf16>, tensor<3x2x8xf16>) -> (index, tensor<2x8xf16>, tensor<2x8xf16>, tensor<3x2x8xf16>)
  return %all#1, %all#2, %all#3 : tensor<2x8xf16>, tensor<2x8xf16>, tensor<3x2x8xf16>
}
