// Launches that the template for attention on wgmma takes, small enough to be emulated (emulate_launches.py).
func.func @attention(%q: tensor<3x256x64xbf16>, %k: tensor<3x256x64xbf16>, %v: tensor<3x256x64xbf16>) -> tensor<3x256x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<3x256x64xbf16>, tensor<3x256x64xbf16>) -> tensor<3x256x256xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<3x256x256xf32>
  %scaled = prim.mul %dot, %cs : (tensor<3x256x256xf32>, tensor<3x256x256xf32>) -> tensor<3x256x256xf32>
  %top = prim.reduce max %scaled [2] : (tensor<3x256x256xf32>) -> tensor<3x256xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<3x256xf32>) -> tensor<3x256x256xf32>
  %less = prim.sub %scaled, %tops : (tensor<3x256x256xf32>, tensor<3x256x256xf32>) -> tensor<3x256x256xf32>
  %e = prim.exp %less : (tensor<3x256x256xf32>) -> tensor<3x256x256xf32>
  %sum = prim.reduce sum %e [2] : (tensor<3x256x256xf32>) -> tensor<3x256xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<3x256xf32>) -> tensor<3x256x256xf32>
  %weights = prim.div %e, %sums : (tensor<3x256x256xf32>, tensor<3x256x256xf32>) -> tensor<3x256x256xf32>
  %w = prim.cast %weights : (tensor<3x256x256xf32>) -> tensor<3x256x256xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<3x256x256xbf16>, tensor<3x256x64xbf16>) -> tensor<3x256x64xf32>
  %heads = prim.cast %wide_y : (tensor<3x256x64xf32>) -> tensor<3x256x64xbf16>
  return %heads : tensor<3x256x64xbf16>
}
// In one turn, in two, in tiles of 64 queries, and with all queries of a head, whose parts warp groups take in turns.
func.func @attention_tails(%q: tensor<2x197x64xf16>, %k: tensor<2x197x64xf16>, %v: tensor<2x197x80xf16>) -> tensor<2x197x80xf16> attributes {test.schedules = [#gpu.schedule<form = wgmma_attention, threads = 384, rows = 128, columns = 208, shared_bytes = 177248, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma_attention, threads = 384, vectors = 2, rows = 128, columns = 208, shared_bytes = 193632, most_blocks = 1, index_bits = 32>, #gpu.schedule<form = wgmma_attention, threads = 384, rows = 128, columns = 112, shared_bytes = 103520, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma_attention, threads = 384, vectors = 2, rows = 128, columns = 112, shared_bytes = 119904, most_blocks = 1, index_bits = 32>, #gpu.schedule<form = wgmma_attention, threads = 256, rows = 64, columns = 64, shared_bytes = 58464, most_blocks = 264, index_bits = 32>, #gpu.schedule<form = wgmma_attention, threads = 512, vectors = 2, rows = 256, columns = 208, shared_bytes = 226400, most_blocks = 1, index_bits = 32>]} {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x197x64xf16>, tensor<2x197x64xf16>) -> tensor<2x197x197xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x197x197xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x197x197xf32>, tensor<2x197x197xf32>) -> tensor<2x197x197xf32>
  %top = prim.reduce max %scaled [2] : (tensor<2x197x197xf32>) -> tensor<2x197xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x197xf32>) -> tensor<2x197x197xf32>
  %less = prim.sub %scaled, %tops : (tensor<2x197x197xf32>, tensor<2x197x197xf32>) -> tensor<2x197x197xf32>
  %e = prim.exp %less : (tensor<2x197x197xf32>) -> tensor<2x197x197xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x197x197xf32>) -> tensor<2x197xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x197xf32>) -> tensor<2x197x197xf32>
  %weights = prim.div %e, %sums : (tensor<2x197x197xf32>, tensor<2x197x197xf32>) -> tensor<2x197x197xf32>
  %w = prim.cast %weights : (tensor<2x197x197xf32>) -> tensor<2x197x197xf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x197x197xf16>, tensor<2x197x80xf16>) -> tensor<2x197x80xf32>
  %heads = prim.cast %wide_y : (tensor<2x197x80xf32>) -> tensor<2x197x80xf16>
  return %heads : tensor<2x197x80xf16>
}
func.func @attention_wide(%q: tensor<2x130x128xbf16>, %k: tensor<2x300x128xbf16>, %v: tensor<2x300x128xbf16>) -> tensor<2x130x128xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x130x128xbf16>, tensor<2x300x128xbf16>) -> tensor<2x130x300xf32>
  %c = prim.constant dense<8.838834765e-02> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x130x300xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x130x300xf32>, tensor<2x130x300xf32>) -> tensor<2x130x300xf32>
  %top = prim.reduce max %scaled [2] : (tensor<2x130x300xf32>) -> tensor<2x130xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x130xf32>) -> tensor<2x130x300xf32>
  %less = prim.sub %scaled, %tops : (tensor<2x130x300xf32>, tensor<2x130x300xf32>) -> tensor<2x130x300xf32>
  %e = prim.exp %less : (tensor<2x130x300xf32>) -> tensor<2x130x300xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x130x300xf32>) -> tensor<2x130xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x130xf32>) -> tensor<2x130x300xf32>
  %weights = prim.div %e, %sums : (tensor<2x130x300xf32>, tensor<2x130x300xf32>) -> tensor<2x130x300xf32>
  %w = prim.cast %weights : (tensor<2x130x300xf32>) -> tensor<2x130x300xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x130x300xbf16>, tensor<2x300x128xbf16>) -> tensor<2x130x128xf32>
  %heads = prim.cast %wide_y : (tensor<2x130x128xf32>) -> tensor<2x130x128xbf16>
  return %heads : tensor<2x130x128xbf16>
}
func.func @attention_256(%q: tensor<2x100x256xbf16>, %k: tensor<2x200x256xbf16>, %v: tensor<2x200x256xbf16>) -> tensor<2x100x256xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x100x256xbf16>, tensor<2x200x256xbf16>) -> tensor<2x100x200xf32>
  %c = prim.constant dense<6.250000000e-02> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x100x200xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x100x200xf32>, tensor<2x100x200xf32>) -> tensor<2x100x200xf32>
  %top = prim.reduce max %scaled [2] : (tensor<2x100x200xf32>) -> tensor<2x100xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x100xf32>) -> tensor<2x100x200xf32>
  %less = prim.sub %scaled, %tops : (tensor<2x100x200xf32>, tensor<2x100x200xf32>) -> tensor<2x100x200xf32>
  %e = prim.exp %less : (tensor<2x100x200xf32>) -> tensor<2x100x200xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x100x200xf32>) -> tensor<2x100xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x100xf32>) -> tensor<2x100x200xf32>
  %weights = prim.div %e, %sums : (tensor<2x100x200xf32>, tensor<2x100x200xf32>) -> tensor<2x100x200xf32>
  %w = prim.cast %weights : (tensor<2x100x200xf32>) -> tensor<2x100x200xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x100x200xbf16>, tensor<2x200x256xbf16>) -> tensor<2x100x256xf32>
  %heads = prim.cast %wide_y : (tensor<2x100x256xf32>) -> tensor<2x100x256xbf16>
  return %heads : tensor<2x100x256xbf16>
}
func.func @attention_causal(%q: tensor<2x300x64xbf16>, %k: tensor<2x300x64xbf16>, %v: tensor<2x300x64xbf16>) -> tensor<2x300x64xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma_attention, threads = 384, rows = 128, columns = 112, shared_bytes = 74848, most_blocks = 132, index_bits = 32>, #gpu.schedule<form = wgmma_attention, threads = 256, rows = 64, columns = 64, shared_bytes = 42080, most_blocks = 396, index_bits = 32>, #gpu.schedule<form = wgmma_attention, threads = 256, vectors = 2, rows = 64, columns = 64, shared_bytes = 50272, most_blocks = 3, index_bits = 32>]} {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x300x64xbf16>, tensor<2x300x64xbf16>) -> tensor<2x300x300xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x300x300xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x300x300xf32>, tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %row = prim.iota 0 sizes() : tensor<300x300xi64>
  %col = prim.iota 1 sizes() : tensor<300x300xi64>
  %cc = prim.compare ge %row, %col : (tensor<300x300xi64>, tensor<300x300xi64>) -> tensor<300x300xi1>
  %seen = prim.broadcast %cc axes [1, 2] sizes() : (tensor<300x300xi1>) -> tensor<2x300x300xi1>
  %none = prim.constant dense<0xFF800000> : tensor<2x300x300xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<2x300x300xi1>, tensor<2x300x300xf32>, tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %top = prim.reduce max %causal [2] : (tensor<2x300x300xf32>) -> tensor<2x300xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x300xf32>) -> tensor<2x300x300xf32>
  %less = prim.sub %causal, %tops : (tensor<2x300x300xf32>, tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %e = prim.exp %less : (tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x300x300xf32>) -> tensor<2x300xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x300xf32>) -> tensor<2x300x300xf32>
  %weights = prim.div %e, %sums : (tensor<2x300x300xf32>, tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %w = prim.cast %weights : (tensor<2x300x300xf32>) -> tensor<2x300x300xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x300x300xbf16>, tensor<2x300x64xbf16>) -> tensor<2x300x64xf32>
  %heads = prim.cast %wide_y : (tensor<2x300x64xf32>) -> tensor<2x300x64xbf16>
  return %heads : tensor<2x300x64xbf16>
}
// Keys that are hidden by the lowest number: blocks of nothing else, before and behind the one that a query sees, and a
// query that sees none and has the mean of all values.
func.func @attention_lowest(%q: tensor<2x200x64xbf16>, %k: tensor<2x200x64xbf16>, %v: tensor<2x200x64xbf16>) -> tensor<2x200x64xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma_attention, threads = 256, rows = 64, columns = 64, shared_bytes = 42080, most_blocks = 396, index_bits = 32>, #gpu.schedule<form = wgmma_attention, threads = 384, rows = 128, columns = 112, shared_bytes = 74848, most_blocks = 132, index_bits = 32>]} {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x200x64xbf16>, tensor<2x200x64xbf16>) -> tensor<2x200x200xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x200x200xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x200x200xf32>, tensor<2x200x200xf32>) -> tensor<2x200x200xf32>
  %row = prim.iota 0 sizes() : tensor<200x200xi64>
  %col = prim.iota 1 sizes() : tensor<200x200xi64>
  %one = prim.constant dense<1> : tensor<200x200xi64>
  %next = prim.add %row, %one : (tensor<200x200xi64>, tensor<200x200xi64>) -> tensor<200x200xi64>
  %cc = prim.compare eq %next, %col : (tensor<200x200xi64>, tensor<200x200xi64>) -> tensor<200x200xi1>
  %seen = prim.broadcast %cc axes [1, 2] sizes() : (tensor<200x200xi1>) -> tensor<2x200x200xi1>
  %none = prim.constant dense<-3.40282347E+38> : tensor<2x200x200xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<2x200x200xi1>, tensor<2x200x200xf32>, tensor<2x200x200xf32>) -> tensor<2x200x200xf32>
  %top = prim.reduce max %causal [2] : (tensor<2x200x200xf32>) -> tensor<2x200xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x200xf32>) -> tensor<2x200x200xf32>
  %less = prim.sub %causal, %tops : (tensor<2x200x200xf32>, tensor<2x200x200xf32>) -> tensor<2x200x200xf32>
  %e = prim.exp %less : (tensor<2x200x200xf32>) -> tensor<2x200x200xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x200x200xf32>) -> tensor<2x200xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x200xf32>) -> tensor<2x200x200xf32>
  %weights = prim.div %e, %sums : (tensor<2x200x200xf32>, tensor<2x200x200xf32>) -> tensor<2x200x200xf32>
  %w = prim.cast %weights : (tensor<2x200x200xf32>) -> tensor<2x200x200xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x200x200xbf16>, tensor<2x200x64xbf16>) -> tensor<2x200x64xf32>
  %heads = prim.cast %wide_y : (tensor<2x200x64xf32>) -> tensor<2x200x64xbf16>
  return %heads : tensor<2x200x64xbf16>
}
func.func @attention_padded(%q: tensor<2x300x64xbf16>, %k: tensor<2x300x64xbf16>, %v: tensor<2x300x64xbf16>, %m: tensor<2x300xf32>) -> tensor<2x300x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x300x64xbf16>, tensor<2x300x64xbf16>) -> tensor<2x300x300xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x300x300xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x300x300xf32>, tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %row = prim.iota 0 sizes() : tensor<300x300xi64>
  %col = prim.iota 1 sizes() : tensor<300x300xi64>
  %cc = prim.compare ge %row, %col : (tensor<300x300xi64>, tensor<300x300xi64>) -> tensor<300x300xi1>
  %bounded = prim.broadcast %cc axes [1, 2] sizes() : (tensor<300x300xi1>) -> tensor<2x300x300xi1>
  %zero = prim.constant dense<0.0> : tensor<2x300xf32>
  %some = prim.compare ge %m, %zero : (tensor<2x300xf32>, tensor<2x300xf32>) -> tensor<2x300xi1>
  %key = prim.iota 1 sizes() : tensor<2x300xi64>
  %last = prim.constant dense<140> : tensor<2x300xi64>
  %early = prim.compare lt %key, %last : (tensor<2x300xi64>, tensor<2x300xi64>) -> tensor<2x300xi1>
  %there = prim.or %some, %early : (tensor<2x300xi1>, tensor<2x300xi1>) -> tensor<2x300xi1>
  %unpadded = prim.broadcast %there axes [0, 2] sizes() : (tensor<2x300xi1>) -> tensor<2x300x300xi1>
  %seen = prim.and %bounded, %unpadded : (tensor<2x300x300xi1>, tensor<2x300x300xi1>) -> tensor<2x300x300xi1>
  %none = prim.constant dense<0xFF800000> : tensor<2x300x300xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<2x300x300xi1>, tensor<2x300x300xf32>, tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %top = prim.reduce max %causal [2] : (tensor<2x300x300xf32>) -> tensor<2x300xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x300xf32>) -> tensor<2x300x300xf32>
  %less = prim.sub %causal, %tops : (tensor<2x300x300xf32>, tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %e = prim.exp %less : (tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x300x300xf32>) -> tensor<2x300xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x300xf32>) -> tensor<2x300x300xf32>
  %weights = prim.div %e, %sums : (tensor<2x300x300xf32>, tensor<2x300x300xf32>) -> tensor<2x300x300xf32>
  %w = prim.cast %weights : (tensor<2x300x300xf32>) -> tensor<2x300x300xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x300x300xbf16>, tensor<2x300x64xbf16>) -> tensor<2x300x64xf32>
  %heads = prim.cast %wide_y : (tensor<2x300x64xf32>) -> tensor<2x300x64xbf16>
  return %heads : tensor<2x300x64xbf16>
}
func.func @attention_window(%q: tensor<2x300x128xbf16>, %k: tensor<2x400x128xbf16>, %v: tensor<2x400x128xbf16>) -> tensor<2x300x128xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x300x128xbf16>, tensor<2x400x128xbf16>) -> tensor<2x300x400xf32>
  %c = prim.constant dense<8.838834765e-02> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x300x400xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x300x400xf32>, tensor<2x300x400xf32>) -> tensor<2x300x400xf32>
  %row0 = prim.iota 0 sizes() : tensor<300x400xi64>
  %col = prim.iota 1 sizes() : tensor<300x400xi64>
  %off = prim.constant dense<100> : tensor<300x400xi64>
  %row = prim.add %row0, %off : (tensor<300x400xi64>, tensor<300x400xi64>) -> tensor<300x400xi64>
  %cc = prim.compare ge %row, %col : (tensor<300x400xi64>, tensor<300x400xi64>) -> tensor<300x400xi1>
  %wd = prim.constant dense<100> : tensor<300x400xi64>
  %lo = prim.sub %row, %wd : (tensor<300x400xi64>, tensor<300x400xi64>) -> tensor<300x400xi64>
  %cw = prim.compare gt %col, %lo : (tensor<300x400xi64>, tensor<300x400xi64>) -> tensor<300x400xi1>
  %cond = prim.and %cc, %cw : (tensor<300x400xi1>, tensor<300x400xi1>) -> tensor<300x400xi1>
  %seen = prim.broadcast %cond axes [1, 2] sizes() : (tensor<300x400xi1>) -> tensor<2x300x400xi1>
  %none = prim.constant dense<0xFF800000> : tensor<2x300x400xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<2x300x400xi1>, tensor<2x300x400xf32>, tensor<2x300x400xf32>) -> tensor<2x300x400xf32>
  %top = prim.reduce max %causal [2] : (tensor<2x300x400xf32>) -> tensor<2x300xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x300xf32>) -> tensor<2x300x400xf32>
  %less = prim.sub %causal, %tops : (tensor<2x300x400xf32>, tensor<2x300x400xf32>) -> tensor<2x300x400xf32>
  %e = prim.exp %less : (tensor<2x300x400xf32>) -> tensor<2x300x400xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x300x400xf32>) -> tensor<2x300xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x300xf32>) -> tensor<2x300x400xf32>
  %weights = prim.div %e, %sums : (tensor<2x300x400xf32>, tensor<2x300x400xf32>) -> tensor<2x300x400xf32>
  %w = prim.cast %weights : (tensor<2x300x400xf32>) -> tensor<2x300x400xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x300x400xbf16>, tensor<2x400x128xbf16>) -> tensor<2x300x128xf32>
  %heads = prim.cast %wide_y : (tensor<2x300x128xf32>) -> tensor<2x300x128xbf16>
  return %heads : tensor<2x300x128xbf16>
}
func.func @attention_late(%q: tensor<1x200x64xbf16>, %k: tensor<1x300x64xbf16>, %v: tensor<1x300x64xbf16>) -> tensor<1x200x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<1x200x64xbf16>, tensor<1x300x64xbf16>) -> tensor<1x200x300xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<1x200x300xf32>
  %scaled = prim.mul %dot, %cs : (tensor<1x200x300xf32>, tensor<1x200x300xf32>) -> tensor<1x200x300xf32>
  %row0 = prim.iota 0 sizes() : tensor<200x300xi64>
  %col = prim.iota 1 sizes() : tensor<200x300xi64>
  %off = prim.constant dense<-60> : tensor<200x300xi64>
  %row = prim.add %row0, %off : (tensor<200x300xi64>, tensor<200x300xi64>) -> tensor<200x300xi64>
  %cc = prim.compare ge %row, %col : (tensor<200x300xi64>, tensor<200x300xi64>) -> tensor<200x300xi1>
  %seen = prim.broadcast %cc axes [1, 2] sizes() : (tensor<200x300xi1>) -> tensor<1x200x300xi1>
  %none = prim.constant dense<0xFF800000> : tensor<1x200x300xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<1x200x300xi1>, tensor<1x200x300xf32>, tensor<1x200x300xf32>) -> tensor<1x200x300xf32>
  %top = prim.reduce max %causal [2] : (tensor<1x200x300xf32>) -> tensor<1x200xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<1x200xf32>) -> tensor<1x200x300xf32>
  %less = prim.sub %causal, %tops : (tensor<1x200x300xf32>, tensor<1x200x300xf32>) -> tensor<1x200x300xf32>
  %e = prim.exp %less : (tensor<1x200x300xf32>) -> tensor<1x200x300xf32>
  %sum = prim.reduce sum %e [2] : (tensor<1x200x300xf32>) -> tensor<1x200xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<1x200xf32>) -> tensor<1x200x300xf32>
  %weights = prim.div %e, %sums : (tensor<1x200x300xf32>, tensor<1x200x300xf32>) -> tensor<1x200x300xf32>
  %w = prim.cast %weights : (tensor<1x200x300xf32>) -> tensor<1x200x300xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<1x200x300xbf16>, tensor<1x300x64xbf16>) -> tensor<1x200x64xf32>
  %heads = prim.cast %wide_y : (tensor<1x200x64xf32>) -> tensor<1x200x64xbf16>
  return %heads : tensor<1x200x64xbf16>
}
func.func @attention_joint(%x: tensor<2x197x768xbf16>) -> tensor<2x197x4x64xbf16> {
  %qs = prim.slice %x starts [0, 0, 0]() steps [1, 1, 1] sizes() : (tensor<2x197x768xbf16>) -> tensor<2x197x256xbf16>
  %qr = prim.reshape %qs sizes() : (tensor<2x197x256xbf16>) -> tensor<2x197x4x64xbf16>
  %q = prim.transpose %qr [0, 2, 1, 3] : (tensor<2x197x4x64xbf16>) -> tensor<2x4x197x64xbf16>
  %ks = prim.slice %x starts [0, 0, 256]() steps [1, 1, 1] sizes() : (tensor<2x197x768xbf16>) -> tensor<2x197x256xbf16>
  %kr = prim.reshape %ks sizes() : (tensor<2x197x256xbf16>) -> tensor<2x197x4x64xbf16>
  %k = prim.transpose %kr [0, 2, 1, 3] : (tensor<2x197x4x64xbf16>) -> tensor<2x4x197x64xbf16>
  %vs = prim.slice %x starts [0, 0, 512]() steps [1, 1, 1] sizes() : (tensor<2x197x768xbf16>) -> tensor<2x197x256xbf16>
  %vr = prim.reshape %vs sizes() : (tensor<2x197x256xbf16>) -> tensor<2x197x4x64xbf16>
  %v = prim.transpose %vr [0, 2, 1, 3] : (tensor<2x197x4x64xbf16>) -> tensor<2x4x197x64xbf16>
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<2x4x197x64xbf16>, tensor<2x4x197x64xbf16>) -> tensor<2x4x197x197xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x4x197x197xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x4x197x197xf32>, tensor<2x4x197x197xf32>) -> tensor<2x4x197x197xf32>
  %top = prim.reduce max %scaled [3] : (tensor<2x4x197x197xf32>) -> tensor<2x4x197xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<2x4x197xf32>) -> tensor<2x4x197x197xf32>
  %less = prim.sub %scaled, %tops : (tensor<2x4x197x197xf32>, tensor<2x4x197x197xf32>) -> tensor<2x4x197x197xf32>
  %e = prim.exp %less : (tensor<2x4x197x197xf32>) -> tensor<2x4x197x197xf32>
  %sum = prim.reduce sum %e [3] : (tensor<2x4x197x197xf32>) -> tensor<2x4x197xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<2x4x197xf32>) -> tensor<2x4x197x197xf32>
  %weights = prim.div %e, %sums : (tensor<2x4x197x197xf32>, tensor<2x4x197x197xf32>) -> tensor<2x4x197x197xf32>
  %w = prim.cast %weights : (tensor<2x4x197x197xf32>) -> tensor<2x4x197x197xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<2x4x197x197xbf16>, tensor<2x4x197x64xbf16>) -> tensor<2x4x197x64xf32>
  %heads = prim.cast %wide_y : (tensor<2x4x197x64xf32>) -> tensor<2x4x197x64xbf16>
  %y = prim.transpose %heads [0, 2, 1, 3] : (tensor<2x4x197x64xbf16>) -> tensor<2x197x4x64xbf16>
  return %y : tensor<2x197x4x64xbf16>
}
func.func @attention_heads(%qm: tensor<2x150x4x80xbf16>, %km: tensor<2x150x4x80xbf16>, %vm: tensor<2x150x4x80xbf16>, %mask: tensor<2x150xf32>) -> tensor<2x150x4x80xbf16> {
  %q = prim.transpose %qm [0, 2, 1, 3] : (tensor<2x150x4x80xbf16>) -> tensor<2x4x150x80xbf16>
  %k = prim.transpose %km [0, 2, 1, 3] : (tensor<2x150x4x80xbf16>) -> tensor<2x4x150x80xbf16>
  %v = prim.transpose %vm [0, 2, 1, 3] : (tensor<2x150x4x80xbf16>) -> tensor<2x4x150x80xbf16>
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<2x4x150x80xbf16>, tensor<2x4x150x80xbf16>) -> tensor<2x4x150x150xf32>
  %c = prim.constant dense<1.118033989e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x4x150x150xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x4x150x150xf32>, tensor<2x4x150x150xf32>) -> tensor<2x4x150x150xf32>
  %spread = prim.broadcast %mask axes [0, 3] sizes() : (tensor<2x150xf32>) -> tensor<2x4x150x150xf32>
  %masked = prim.add %scaled, %spread : (tensor<2x4x150x150xf32>, tensor<2x4x150x150xf32>) -> tensor<2x4x150x150xf32>
  %top = prim.reduce max %masked [3] : (tensor<2x4x150x150xf32>) -> tensor<2x4x150xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<2x4x150xf32>) -> tensor<2x4x150x150xf32>
  %less = prim.sub %masked, %tops : (tensor<2x4x150x150xf32>, tensor<2x4x150x150xf32>) -> tensor<2x4x150x150xf32>
  %e = prim.exp %less : (tensor<2x4x150x150xf32>) -> tensor<2x4x150x150xf32>
  %sum = prim.reduce sum %e [3] : (tensor<2x4x150x150xf32>) -> tensor<2x4x150xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<2x4x150xf32>) -> tensor<2x4x150x150xf32>
  %weights = prim.div %e, %sums : (tensor<2x4x150x150xf32>, tensor<2x4x150x150xf32>) -> tensor<2x4x150x150xf32>
  %w = prim.cast %weights : (tensor<2x4x150x150xf32>) -> tensor<2x4x150x150xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<2x4x150x150xbf16>, tensor<2x4x150x80xbf16>) -> tensor<2x4x150x80xf32>
  %heads = prim.cast %wide_y : (tensor<2x4x150x80xf32>) -> tensor<2x4x150x80xbf16>
  %y = prim.transpose %heads [0, 2, 1, 3] : (tensor<2x4x150x80xbf16>) -> tensor<2x150x4x80xbf16>
  return %y : tensor<2x150x4x80xbf16>
}
func.func @attention_grouped(%q: tensor<1x2x4x150x128xbf16>, %k: tensor<1x2x150x128xbf16>, %v: tensor<1x2x150x128xbf16>) -> tensor<1x2x4x150x128xbf16> {
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [4] x [3] : (tensor<1x2x4x150x128xbf16>, tensor<1x2x150x128xbf16>) -> tensor<1x2x4x150x150xf32>
  %c = prim.constant dense<8.838834765e-02> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<1x2x4x150x150xf32>
  %scaled = prim.mul %dot, %cs : (tensor<1x2x4x150x150xf32>, tensor<1x2x4x150x150xf32>) -> tensor<1x2x4x150x150xf32>
  %row = prim.iota 0 sizes() : tensor<150x150xi64>
  %col = prim.iota 1 sizes() : tensor<150x150xi64>
  %cc = prim.compare ge %row, %col : (tensor<150x150xi64>, tensor<150x150xi64>) -> tensor<150x150xi1>
  %seen = prim.broadcast %cc axes [3, 4] sizes() : (tensor<150x150xi1>) -> tensor<1x2x4x150x150xi1>
  %none = prim.constant dense<0xFF800000> : tensor<1x2x4x150x150xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<1x2x4x150x150xi1>, tensor<1x2x4x150x150xf32>, tensor<1x2x4x150x150xf32>) -> tensor<1x2x4x150x150xf32>
  %top = prim.reduce max %causal [4] : (tensor<1x2x4x150x150xf32>) -> tensor<1x2x4x150xf32>
  %tops = prim.broadcast %top axes [0, 1, 2, 3] sizes() : (tensor<1x2x4x150xf32>) -> tensor<1x2x4x150x150xf32>
  %less = prim.sub %causal, %tops : (tensor<1x2x4x150x150xf32>, tensor<1x2x4x150x150xf32>) -> tensor<1x2x4x150x150xf32>
  %e = prim.exp %less : (tensor<1x2x4x150x150xf32>) -> tensor<1x2x4x150x150xf32>
  %sum = prim.reduce sum %e [4] : (tensor<1x2x4x150x150xf32>) -> tensor<1x2x4x150xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2, 3] sizes() : (tensor<1x2x4x150xf32>) -> tensor<1x2x4x150x150xf32>
  %weights = prim.div %e, %sums : (tensor<1x2x4x150x150xf32>, tensor<1x2x4x150x150xf32>) -> tensor<1x2x4x150x150xf32>
  %w = prim.cast %weights : (tensor<1x2x4x150x150xf32>) -> tensor<1x2x4x150x150xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [4] x [2] : (tensor<1x2x4x150x150xbf16>, tensor<1x2x150x128xbf16>) -> tensor<1x2x4x150x128xf32>
  %heads = prim.cast %wide_y : (tensor<1x2x4x150x128xf32>) -> tensor<1x2x4x150x128xbf16>
  return %heads : tensor<1x2x4x150x128xbf16>
}
func.func @attention_mask(%q: tensor<3x100x64xbf16>, %k: tensor<3x210x64xbf16>, %v: tensor<3x210x64xbf16>, %mask: tensor<100x210xbf16>) -> tensor<3x100x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<3x100x64xbf16>, tensor<3x210x64xbf16>) -> tensor<3x100x210xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<3x100x210xf32>
  %scaled = prim.mul %dot, %cs : (tensor<3x100x210xf32>, tensor<3x100x210xf32>) -> tensor<3x100x210xf32>
  %wide = prim.cast %mask : (tensor<100x210xbf16>) -> tensor<100x210xf32>
  %spread = prim.broadcast %wide axes [1, 2] sizes() : (tensor<100x210xf32>) -> tensor<3x100x210xf32>
  %masked = prim.add %scaled, %spread : (tensor<3x100x210xf32>, tensor<3x100x210xf32>) -> tensor<3x100x210xf32>
  %top = prim.reduce max %masked [2] : (tensor<3x100x210xf32>) -> tensor<3x100xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<3x100xf32>) -> tensor<3x100x210xf32>
  %less = prim.sub %masked, %tops : (tensor<3x100x210xf32>, tensor<3x100x210xf32>) -> tensor<3x100x210xf32>
  %e = prim.exp %less : (tensor<3x100x210xf32>) -> tensor<3x100x210xf32>
  %sum = prim.reduce sum %e [2] : (tensor<3x100x210xf32>) -> tensor<3x100xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<3x100xf32>) -> tensor<3x100x210xf32>
  %weights = prim.div %e, %sums : (tensor<3x100x210xf32>, tensor<3x100x210xf32>) -> tensor<3x100x210xf32>
  %w = prim.cast %weights : (tensor<3x100x210xf32>) -> tensor<3x100x210xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<3x100x210xbf16>, tensor<3x210x64xbf16>) -> tensor<3x100x64xf32>
  %heads = prim.cast %wide_y : (tensor<3x100x64xf32>) -> tensor<3x100x64xbf16>
  return %heads : tensor<3x100x64xbf16>
}
func.func @attention_odd(%q: tensor<3x100x64xbf16>, %k: tensor<3x211x64xbf16>, %v: tensor<3x211x64xbf16>, %mask: tensor<100x211xbf16>) -> tensor<3x100x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<3x100x64xbf16>, tensor<3x211x64xbf16>) -> tensor<3x100x211xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<3x100x211xf32>
  %scaled = prim.mul %dot, %cs : (tensor<3x100x211xf32>, tensor<3x100x211xf32>) -> tensor<3x100x211xf32>
  %wide = prim.cast %mask : (tensor<100x211xbf16>) -> tensor<100x211xf32>
  %spread = prim.broadcast %wide axes [1, 2] sizes() : (tensor<100x211xf32>) -> tensor<3x100x211xf32>
  %masked = prim.add %scaled, %spread : (tensor<3x100x211xf32>, tensor<3x100x211xf32>) -> tensor<3x100x211xf32>
  %top = prim.reduce max %masked [2] : (tensor<3x100x211xf32>) -> tensor<3x100xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<3x100xf32>) -> tensor<3x100x211xf32>
  %less = prim.sub %masked, %tops : (tensor<3x100x211xf32>, tensor<3x100x211xf32>) -> tensor<3x100x211xf32>
  %e = prim.exp %less : (tensor<3x100x211xf32>) -> tensor<3x100x211xf32>
  %sum = prim.reduce sum %e [2] : (tensor<3x100x211xf32>) -> tensor<3x100xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<3x100xf32>) -> tensor<3x100x211xf32>
  %weights = prim.div %e, %sums : (tensor<3x100x211xf32>, tensor<3x100x211xf32>) -> tensor<3x100x211xf32>
  %w = prim.cast %weights : (tensor<3x100x211xf32>) -> tensor<3x100x211xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<3x100x211xbf16>, tensor<3x211x64xbf16>) -> tensor<3x100x64xf32>
  %heads = prim.cast %wide_y : (tensor<3x100x64xf32>) -> tensor<3x100x64xbf16>
  return %heads : tensor<3x100x64xbf16>
}
func.func @attention_bool(%q: tensor<3x100x48xbf16>, %k: tensor<3x208x48xbf16>, %v: tensor<3x208x48xbf16>, %mask: tensor<3x208xi8> {test.low = -0.9, test.high = 2.9}) -> tensor<3x100x48xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<3x100x48xbf16>, tensor<3x208x48xbf16>) -> tensor<3x100x208xf32>
  %c = prim.constant dense<1.443375673e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<3x100x208xf32>
  %scaled = prim.mul %dot, %cs : (tensor<3x100x208xf32>, tensor<3x100x208xf32>) -> tensor<3x100x208xf32>
  %zero = prim.constant dense<0> : tensor<3x208xi8>
  %shown = prim.compare gt %mask, %zero : (tensor<3x208xi8>, tensor<3x208xi8>) -> tensor<3x208xi1>
  %spread = prim.broadcast %shown axes [0, 2] sizes() : (tensor<3x208xi1>) -> tensor<3x100x208xi1>
  %least = prim.constant dense<0xFF800000> : tensor<3x100x208xf32>
  %masked = prim.select %spread, %scaled, %least : (tensor<3x100x208xi1>, tensor<3x100x208xf32>, tensor<3x100x208xf32>) -> tensor<3x100x208xf32>
  %top = prim.reduce max %masked [2] : (tensor<3x100x208xf32>) -> tensor<3x100xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<3x100xf32>) -> tensor<3x100x208xf32>
  %less = prim.sub %masked, %tops : (tensor<3x100x208xf32>, tensor<3x100x208xf32>) -> tensor<3x100x208xf32>
  %e = prim.exp %less : (tensor<3x100x208xf32>) -> tensor<3x100x208xf32>
  %sum = prim.reduce sum %e [2] : (tensor<3x100x208xf32>) -> tensor<3x100xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<3x100xf32>) -> tensor<3x100x208xf32>
  %weights = prim.div %e, %sums : (tensor<3x100x208xf32>, tensor<3x100x208xf32>) -> tensor<3x100x208xf32>
  %w = prim.cast %weights : (tensor<3x100x208xf32>) -> tensor<3x100x208xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<3x100x208xbf16>, tensor<3x208x48xbf16>) -> tensor<3x100x48xf32>
  %heads = prim.cast %wide_y : (tensor<3x100x48xf32>) -> tensor<3x100x48xbf16>
  return %heads : tensor<3x100x48xbf16>
}
func.func @attention_across(%q: tensor<2x160x64xbf16>, %k: tensor<2x64x200xbf16>, %v: tensor<2x64x200xbf16>) -> tensor<2x160x64xbf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [1] : (tensor<2x160x64xbf16>, tensor<2x64x200xbf16>) -> tensor<2x160x200xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x160x200xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x160x200xf32>, tensor<2x160x200xf32>) -> tensor<2x160x200xf32>
  %top = prim.reduce max %scaled [2] : (tensor<2x160x200xf32>) -> tensor<2x160xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x160xf32>) -> tensor<2x160x200xf32>
  %less = prim.sub %scaled, %tops : (tensor<2x160x200xf32>, tensor<2x160x200xf32>) -> tensor<2x160x200xf32>
  %e = prim.exp %less : (tensor<2x160x200xf32>) -> tensor<2x160x200xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x160x200xf32>) -> tensor<2x160xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x160xf32>) -> tensor<2x160x200xf32>
  %weights = prim.div %e, %sums : (tensor<2x160x200xf32>, tensor<2x160x200xf32>) -> tensor<2x160x200xf32>
  %w = prim.cast %weights : (tensor<2x160x200xf32>) -> tensor<2x160x200xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [2] : (tensor<2x160x200xbf16>, tensor<2x64x200xbf16>) -> tensor<2x160x64xf32>
  %heads = prim.cast %wide_y : (tensor<2x160x64xf32>) -> tensor<2x160x64xbf16>
  return %heads : tensor<2x160x64xbf16>
}
func.func @attention_40(%qm: tensor<2x150x3x40xbf16>, %km: tensor<2x200x3x40xbf16>, %vm: tensor<2x200x3x40xbf16>) -> tensor<2x150x3x40xbf16> {
  %q = prim.transpose %qm [0, 2, 1, 3] : (tensor<2x150x3x40xbf16>) -> tensor<2x3x150x40xbf16>
  %k = prim.transpose %km [0, 2, 1, 3] : (tensor<2x200x3x40xbf16>) -> tensor<2x3x200x40xbf16>
  %v = prim.transpose %vm [0, 2, 1, 3] : (tensor<2x200x3x40xbf16>) -> tensor<2x3x200x40xbf16>
  %dot = prim.dot %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<2x3x150x40xbf16>, tensor<2x3x200x40xbf16>) -> tensor<2x3x150x200xf32>
  %c = prim.constant dense<1.581138830e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x3x150x200xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x3x150x200xf32>, tensor<2x3x150x200xf32>) -> tensor<2x3x150x200xf32>
  %top = prim.reduce max %scaled [3] : (tensor<2x3x150x200xf32>) -> tensor<2x3x150xf32>
  %tops = prim.broadcast %top axes [0, 1, 2] sizes() : (tensor<2x3x150xf32>) -> tensor<2x3x150x200xf32>
  %less = prim.sub %scaled, %tops : (tensor<2x3x150x200xf32>, tensor<2x3x150x200xf32>) -> tensor<2x3x150x200xf32>
  %e = prim.exp %less : (tensor<2x3x150x200xf32>) -> tensor<2x3x150x200xf32>
  %sum = prim.reduce sum %e [3] : (tensor<2x3x150x200xf32>) -> tensor<2x3x150xf32>
  %sums = prim.broadcast %sum axes [0, 1, 2] sizes() : (tensor<2x3x150xf32>) -> tensor<2x3x150x200xf32>
  %weights = prim.div %e, %sums : (tensor<2x3x150x200xf32>, tensor<2x3x150x200xf32>) -> tensor<2x3x150x200xf32>
  %w = prim.cast %weights : (tensor<2x3x150x200xf32>) -> tensor<2x3x150x200xbf16>
  %wide_y = prim.dot %w, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<2x3x150x200xbf16>, tensor<2x3x200x40xbf16>) -> tensor<2x3x150x40xf32>
  %heads = prim.cast %wide_y : (tensor<2x3x150x40xf32>) -> tensor<2x3x150x40xbf16>
  %y = prim.transpose %heads [0, 2, 1, 3] : (tensor<2x3x150x40xbf16>) -> tensor<2x150x3x40xbf16>
  return %y : tensor<2x150x3x40xbf16>
}
func.func @attention_72(%q: tensor<2x150x72xf16>, %k: tensor<2x90x72xf16>, %v: tensor<2x90x24xf16>) -> tensor<2x150x24xf16> {
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x150x72xf16>, tensor<2x90x72xf16>) -> tensor<2x150x90xf32>
  %c = prim.constant dense<1.178511302e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes() : (tensor<f32>) -> tensor<2x150x90xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x150x90xf32>, tensor<2x150x90xf32>) -> tensor<2x150x90xf32>
  %row = prim.iota 0 sizes() : tensor<150x90xi64>
  %col = prim.iota 1 sizes() : tensor<150x90xi64>
  %cc = prim.compare ge %row, %col : (tensor<150x90xi64>, tensor<150x90xi64>) -> tensor<150x90xi1>
  %seen = prim.broadcast %cc axes [1, 2] sizes() : (tensor<150x90xi1>) -> tensor<2x150x90xi1>
  %none = prim.constant dense<0xFF800000> : tensor<2x150x90xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<2x150x90xi1>, tensor<2x150x90xf32>, tensor<2x150x90xf32>) -> tensor<2x150x90xf32>
  %top = prim.reduce max %causal [2] : (tensor<2x150x90xf32>) -> tensor<2x150xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes() : (tensor<2x150xf32>) -> tensor<2x150x90xf32>
  %less = prim.sub %causal, %tops : (tensor<2x150x90xf32>, tensor<2x150x90xf32>) -> tensor<2x150x90xf32>
  %e = prim.exp %less : (tensor<2x150x90xf32>) -> tensor<2x150x90xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x150x90xf32>) -> tensor<2x150xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes() : (tensor<2x150xf32>) -> tensor<2x150x90xf32>
  %weights = prim.div %e, %sums : (tensor<2x150x90xf32>, tensor<2x150x90xf32>) -> tensor<2x150x90xf32>
  %w = prim.cast %weights : (tensor<2x150x90xf32>) -> tensor<2x150x90xf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x150x90xf16>, tensor<2x90x24xf16>) -> tensor<2x150x24xf32>
  %heads = prim.cast %wide_y : (tensor<2x150x24xf32>) -> tensor<2x150x24xf16>
  return %heads : tensor<2x150x24xf16>
}
// Open lengths, of which a run has 37: in three turns of keys and in two.
func.func @attention_open(%q: tensor<2x?x64xbf16>, %k: tensor<2x?x64xbf16>, %v: tensor<2x?x64xbf16>) -> tensor<2x?x64xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma_attention, threads = 256, rows = 64, columns = 16, shared_bytes = 17504, most_blocks = 396>, #gpu.schedule<form = wgmma_attention, threads = 384, rows = 128, columns = 32, shared_bytes = 33888, most_blocks = 1>]} {
  %l = prim.dim %q, 1 : tensor<2x?x64xbf16>
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x?x64xbf16>, tensor<2x?x64xbf16>) -> tensor<2x?x?xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes(%l, %l) : (tensor<f32>) -> tensor<2x?x?xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x?x?xf32>, tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %row = prim.iota 0 sizes(%l, %l) : tensor<?x?xi64>
  %col = prim.iota 1 sizes(%l, %l) : tensor<?x?xi64>
  %cc = prim.compare ge %row, %col : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
  %seen = prim.broadcast %cc axes [1, 2] sizes(%l, %l) : (tensor<?x?xi1>) -> tensor<2x?x?xi1>
  %minus = prim.constant dense<0xFF800000> : tensor<f32>
  %none = prim.broadcast %minus axes [] sizes(%l, %l) : (tensor<f32>) -> tensor<2x?x?xf32>
  %causal = prim.select %seen, %scaled, %none : (tensor<2x?x?xi1>, tensor<2x?x?xf32>, tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %top = prim.reduce max %causal [2] : (tensor<2x?x?xf32>) -> tensor<2x?xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes(%l, %l) : (tensor<2x?xf32>) -> tensor<2x?x?xf32>
  %less = prim.sub %causal, %tops : (tensor<2x?x?xf32>, tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %e = prim.exp %less : (tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x?x?xf32>) -> tensor<2x?xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes(%l, %l) : (tensor<2x?xf32>) -> tensor<2x?x?xf32>
  %weights = prim.div %e, %sums : (tensor<2x?x?xf32>, tensor<2x?x?xf32>) -> tensor<2x?x?xf32>
  %w = prim.cast %weights : (tensor<2x?x?xf32>) -> tensor<2x?x?xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x?x?xbf16>, tensor<2x?x64xbf16>) -> tensor<2x?x64xf32>
  %heads = prim.cast %wide_y : (tensor<2x?x64xf32>) -> tensor<2x?x64xbf16>
  return %heads : tensor<2x?x64xbf16>
}
// Known queries of open keys, with something that is read for each score.
func.func @attention_open_keys(%q: tensor<2x100x64xbf16>, %k: tensor<2x?x64xbf16>, %v: tensor<2x?x64xbf16>, %mask: tensor<100x?xbf16>) -> tensor<2x100x64xbf16> attributes {test.schedules = [#gpu.schedule<form = wgmma_attention, threads = 256, rows = 64, columns = 16, shared_bytes = 17504, most_blocks = 3>]} {
  %l = prim.dim %k, 1 : tensor<2x?x64xbf16>
  %dot = prim.dot %q, %k batch [0] x [0] contract [2] x [2] : (tensor<2x100x64xbf16>, tensor<2x?x64xbf16>) -> tensor<2x100x?xf32>
  %c = prim.constant dense<1.250000000e-01> : tensor<f32>
  %cs = prim.broadcast %c axes [] sizes(%l) : (tensor<f32>) -> tensor<2x100x?xf32>
  %scaled = prim.mul %dot, %cs : (tensor<2x100x?xf32>, tensor<2x100x?xf32>) -> tensor<2x100x?xf32>
  %wide = prim.cast %mask : (tensor<100x?xbf16>) -> tensor<100x?xf32>
  %spread = prim.broadcast %wide axes [1, 2] sizes(%l) : (tensor<100x?xf32>) -> tensor<2x100x?xf32>
  %masked = prim.add %scaled, %spread : (tensor<2x100x?xf32>, tensor<2x100x?xf32>) -> tensor<2x100x?xf32>
  %top = prim.reduce max %masked [2] : (tensor<2x100x?xf32>) -> tensor<2x100xf32>
  %tops = prim.broadcast %top axes [0, 1] sizes(%l) : (tensor<2x100xf32>) -> tensor<2x100x?xf32>
  %less = prim.sub %masked, %tops : (tensor<2x100x?xf32>, tensor<2x100x?xf32>) -> tensor<2x100x?xf32>
  %e = prim.exp %less : (tensor<2x100x?xf32>) -> tensor<2x100x?xf32>
  %sum = prim.reduce sum %e [2] : (tensor<2x100x?xf32>) -> tensor<2x100xf32>
  %sums = prim.broadcast %sum axes [0, 1] sizes(%l) : (tensor<2x100xf32>) -> tensor<2x100x?xf32>
  %weights = prim.div %e, %sums : (tensor<2x100x?xf32>, tensor<2x100x?xf32>) -> tensor<2x100x?xf32>
  %w = prim.cast %weights : (tensor<2x100x?xf32>) -> tensor<2x100x?xbf16>
  %wide_y = prim.dot %w, %v batch [0] x [0] contract [2] x [1] : (tensor<2x100x?xbf16>, tensor<2x?x64xbf16>) -> tensor<2x100x64xf32>
  %heads = prim.cast %wide_y : (tensor<2x100x64xf32>) -> tensor<2x100x64xbf16>
  return %heads : tensor<2x100x64xbf16>
}
