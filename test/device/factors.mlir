// QR by the blocks of a cluster (ClusterReflections.cpp), each by schedules of its own, small enough to be emulated
// (emulate_launches.py).
func.func @tall(%x: tensor<40x12xf32>) -> (tensor<40x12xf32>, tensor<40xf32>) attributes {test.schedules = [#gpu.schedule<form = line, threads = 64, vectors = 3, row_threads = 64, depth = 4, shared_bytes = 2144, split = 2, index_bits = 32>]} {
  %r, %tau = prim.qr %x : (tensor<40x12xf32>) -> (tensor<40x12xf32>, tensor<40xf32>)
  return %r, %tau : tensor<40x12xf32>, tensor<40xf32>
}
func.func @wide(%x: tensor<2x9x20xf32>) -> (tensor<2x9x20xf32>, tensor<2x9xf32>) attributes {test.schedules = [#gpu.schedule<form = line, threads = 32, vectors = 5, row_threads = 32, depth = 2, shared_bytes = 1072, split = 4, index_bits = 32>]} {
  %r, %tau = prim.qr %x : (tensor<2x9x20xf32>) -> (tensor<2x9x20xf32>, tensor<2x9xf32>)
  return %r, %tau : tensor<2x9x20xf32>, tensor<2x9xf32>
}
func.func @rows(%x: tensor<150x9xf32>) -> (tensor<150x9xf32>, tensor<150xf32>) attributes {test.schedules = [#gpu.schedule<form = line, threads = 160, vectors = 1, row_threads = 160, depth = 4, shared_bytes = 4192, split = 2, index_bits = 32>]} {
  %r, %tau = prim.qr %x : (tensor<150x9xf32>) -> (tensor<150x9xf32>, tensor<150xf32>)
  return %r, %tau : tensor<150x9xf32>, tensor<150xf32>
}
