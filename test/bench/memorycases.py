"""The cases that memory.py takes apart, and what it measures beside them."""
import torch
from opcases import BF16, F16, F32, F64, Case, integers, random

CALL = Case("memory/call", torch.neg, lambda: [random(8)])

# name -> how many times as much as a case of the same operator that L2 holds, and what that one has in its place.
NEAR = {}
# Loops of memory.c.
BARE = ["index/scatter_add/100000x4096x64", "index/scatter_add/30522x512x768", "index/scatter_add/1000x100000x1",
        "index/index_add/1000x100000x1"]
# Rows that have neither: what they are made of are bytes, or a call.
PLAIN = ["math/gelu/100", "reduce/sum/100/all", "reduce/amax/100/all", "norm/rms/1x4096", "linear/1x64x64", "linear/4x64x64",
         "linear/16x64x64", "linear/4x768x50257", "linear/16x768x50257", "attention/grouped/32x32x1x4096x128",
         "attention/grouped/32x8x1x2048x128", "model/llama-bf16/decode-4096", "model/llama-f32/decode-4096",
         "model/qwen-f32/decode-4096", "model/qwen-f32/decode-512", "order/topk50/1x65536", "scan/logcumsumexp/64x1024",
         *BARE]


def near(name, times, *shape, dtype=F32, **changes):
    changes.setdefault("arguments", lambda: [random(*shape, dtype=dtype)])
    NEAR[name] = times, changes


for what, length in (("add", 1 << 24), ("add", 4096), ("exp", 4096), ("gelu", 4096), ("gelu", 1 << 24), ("tanh", 4096),
                     ("tanh", 1 << 24), ("erfinv", 1 << 20), ("log", 1 << 20), ("pow", 1 << 20), ("softplus", 1 << 20)):
    near(f"math/{what}/{length}", length / 65536, 65536)
for what, name, dtype in (("exp", "bf16", BF16), ("gelu", "bf16", BF16), ("gelu", "f16", F16), ("gelu", "f64", F64)):
    near(f"math/{what}/{1 << 20}/{name}", 16, 65536, dtype=dtype)
for what in ("argmax", "max", "min", "std", "logsumexp"):
    near(f"reduce/{what}/4096x1024/0", 64, 64, 1024)
near("reduce/argmax/4194304/all", 64, 65536)
near("reduce/logsumexp/4096x1024/1", 64, 64, 1024)
near("reduce/logsumexp/1024x33/1", 4, 256, 33)
near("reduce/logsumexp/33x65536/0", 32, 33, 2048)
near("reduce/logsumexp/64x64x1024/1", 64, 1, 64, 1024)
near("reduce/logsumexp/8x3x224x224/(2,3)", 16, 8, 3, 56, 56)
near("softmax/1024x4096/0", 64, 1024, 64)
near("softmax/128x50257/1", 64, 2, 50257)
for what in ("log_softmax", "logsumexp", "softmax"):
    near(f"wide/columns/{what}/2x150x256x256/1", 256, 2, 150, 16, 16)
    near(f"wide/columns/{what}/32x100x333xf64/1", 32, 1, 100, 333, dtype=F64)
    near(f"wide/columns/{what}/64x64x1024/1", 64, 1, 64, 1024)
    if what != "softmax":
        near(f"wide/columns/{what}/33x65536/0", 32, 33, 2048)
near("wide/columns/logsumexp/8x21x256x256/1", 256, 8, 21, 16, 16)
near("block/cross_entropy/512x32000", 128, arguments=lambda: [random(4, 32000), integers(32000, 4)])
for what in ("avg_pool2s2", "avg_pool3s2", "avg_pool5s1", "max_pool2s2", "max_pool5s1"):
    near(f"image/{what}/8x64x112x112", 64, 1, 8, 112, 112)
for what, factor in (("bicubic", 2), ("bilinear", 1.7), ("bilinear", 2)):
    near(f"image/{what}/8x16x128x128x{factor}", 64, 1, 2, 128, 128)
near("image/grid_sample/1x64x56x56", 4, arguments=lambda: [random(1, 16, 56, 56), torch.rand(1, 56, 56, 2) * 2 - 1])
near("shape/unfold/1x64x56x56", 16, 1, 4, 56, 56)
near("shape/transpose/4096x4097", 255, 256, 257)
near("linear/16x1024x32000", 250, 16, 1024, state=lambda: torch.nn.Linear(1024, 128, bias=False))
near("linear/16x4096x4096", 128, 16, 4096, state=lambda: torch.nn.Linear(4096, 32, bias=False))
