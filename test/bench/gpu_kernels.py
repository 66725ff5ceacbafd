"""scripts/bench kernels: tcc's kernels beside NVIDIA's libraries on one GPU, in one process, on the same tensors.

    scripts/bench kernels FOLDER [--only TEXT] [--json FILE]     FOLDER: bench.mlir, as pack-launches packed it
    scripts/bench kernels --write FILE                           merges the rows of FILE into docs/performance.md

A row is a launch of test/device/bench.mlir. Its peers are cuBLASLt by every algorithm that its heuristic proposes,
cuDNN by every algorithm that PyTorch's benchmark mode tries, attention by each of PyTorch's backends (flash, cuDNN),
and, for what memory bounds, a copy of as many bytes on the device; the fastest one counts. Outputs are compared with
PyTorch's in f32 (f64 for f32), relative to the largest: error may be at most twice the peer's, plus a unit of the type.
Times are medians of captured graphs of many launches; operands that fit in the L2 cache are taken from as many copies as
do not, so that memory is read.
"""
import argparse
import dataclasses
import datetime
import json
import math
import pathlib
import statistics
import sys
import typing

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "test/device"), str(SOURCE / "test/bench")]
COLD_BYTES, MOST_COPIES = 180 << 20, 64
ROUNDED = "product of tf32"


@dataclasses.dataclass
class Row:
    title: str
    shapes: list  # of the launch's inputs
    function: typing.Callable  # of torch and its inputs
    kind: str  # which peers
    output: tuple = ()  # shape, unless the function's


def linear(m, n, k, kind="product"):
    return Row(f"product {m} x {n} x {k}", [(m, k), (n, k)], lambda torch, a, w: a @ w.t(), kind)


def convolution(batch, size, channels, filters, taps, stride=1, groups=1):
    def function(torch, x, w):
        # As ours lie: channels last, filters before their windows; depthwise ones innermost.
        image = x.permute(0, 3, 1, 2)
        depthwise = groups == channels
        weight = w.permute(3, 2, 0, 1) if depthwise else w.permute(0, 3, 1, 2)
        y = torch.nn.functional.conv2d(image, weight, stride=stride, padding=taps // 2, groups=groups)
        return y.permute(0, 2, 3, 1)
    inner = channels // groups
    weight = (taps, taps, 1, filters) if groups == channels else (filters, taps, taps, inner)
    group = "" if groups == 1 else ", depthwise" if groups == channels else f", {groups} groups"
    return Row(f"convolution {batch} x {size}² x {channels} → {filters}, {taps}²" + (f" / {stride}" if stride > 1 else "") + group,
               [(batch, size, size, channels), weight], function, "convolution")


def attention(title, q, k=None, heads=None, shared=None, causal=False):
    """Queries and keys as the launch has them, of `heads` of which some share keys (all axes before the last two)."""
    k = k or q
    heads = heads or math.prod(q[:-2])
    shared = shared or heads

    def function(torch, *operands):
        q, k, v = (x.reshape(-1, count, *x.shape[-2:]) for x, count in zip(operands, (heads, shared, shared)))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != shared)
        return y.reshape(operands[0].shape)
    return Row("attention " + title, [q, k, k], function, "attention")


def attention_by_rows(title, batch, rows, heads, width):
    """Heads beside one another in each row."""
    def function(torch, *operands):
        return torch.nn.functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in operands)).transpose(1, 2)
    return Row("attention " + title, [(batch, rows, heads, width)] * 3, function, "attention")


def joined_attention(title, batch, rows, heads, width, causal=False):
    def function(torch, x):
        q, k, v = (part.unflatten(2, (heads, width)).transpose(1, 2) for part in x.chunk(3, 2))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return y.transpose(1, 2)
    return Row("attention " + title, [(batch, rows, 3 * heads * width)], function, "attention")


def pointwise_rows():
    wide, row = (8192, 4096), (4096,)
    rows = {}
    for t in ("f32", "bf16"):
        rows |= {
            f"sin_cos_{t}": Row(f"sin(cos x), {t}", [wide], lambda torch, x: torch.sin(torch.cos(x)), "memory"),
            f"gelu_add_{t}": Row(f"gelu(x + z), {t}", [wide, wide], lambda torch, x, z: torch.nn.functional.gelu(x + z), "memory"),
            f"softmax_{t}": Row(f"softmax, {t}", [wide], lambda torch, x: torch.softmax(x, 1), "memory"),
            f"layer_norm_{t}": Row(f"layer norm, {t}", [wide, row, row],
                                   lambda torch, x, g, b: torch.nn.functional.layer_norm(x, (4096,), g, b), "memory"),
            f"transpose_{t}": Row(f"transpose, {t}", [wide], lambda torch, x: x.t().contiguous(), "memory"),
            f"sum_leading_{t}": Row(f"sum over rows, {t}", [wide], lambda torch, x: x.sum(0), "memory"),
            f"sum_all_{t}": Row(f"sum of all, {t}", [wide], lambda torch, x: x.sum(), "memory"),
        }
    return rows


# By the name of the launch, without bench_.
ROWS = pointwise_rows() | {
    "gemm_8192": linear(8192, 8192, 8192),
    "gemm_4096": linear(4096, 4096, 4096),
    "gemm_1024_4096_4096": linear(1024, 4096, 4096),
    "gemm_1_4096_4096": linear(1, 4096, 4096),
    "gemm_1_8192_2048": linear(1, 8192, 2048),
    "gemm_1_2048_8192": linear(1, 2048, 8192),
    "gemm_16_4096_4096": linear(16, 4096, 4096),
    "gemm_64_4096_4096": linear(64, 4096, 4096),
    "gemm_bert_b1_qkv": linear(128, 768, 768),
    "gemm_bert_b1_up": linear(128, 3072, 768),
    "gemm_bert_b1_down": linear(128, 768, 3072),
    "gemm_bert_b32_down": linear(4096, 768, 3072),
    "gemm_vit_b32": linear(6304, 768, 768),
    "gemm_i8_4096": linear(4096, 4096, 4096, "product of i8"),
    "gemm_i8_1024": linear(1024, 1024, 1024, "product of i8"),
    "gemm_f32_2048": linear(2048, 2048, 2048),
    "gemm_tf32_8192": linear(8192, 8192, 8192, ROUNDED),
    "gemm_tf32_4096": linear(4096, 4096, 4096, ROUNDED),
    "gemm_tf32_1024_4096_4096": linear(1024, 4096, 4096, ROUNDED),
    "conv_56_64_3x3": convolution(32, 56, 64, 64, 3),
    "conv_28_128_3x3": convolution(32, 28, 128, 128, 3),
    "conv_14_256_3x3": convolution(32, 14, 256, 256, 3),
    "conv_7_512_3x3": convolution(32, 7, 512, 512, 3),
    "conv_56_128_3x3_s2": convolution(32, 56, 128, 128, 3, 2),
    "conv_56_256_1x1_s2": convolution(32, 56, 256, 512, 1, 2),
    "conv_224_4_7x7_s2": convolution(32, 224, 4, 64, 7, 2),
    "conv_b1_14_256_3x3": convolution(1, 14, 256, 256, 3),
    "conv_56_96_depthwise": convolution(32, 56, 96, 96, 3, groups=96),
    "conv_56_96_depthwise_7x7": convolution(32, 56, 96, 96, 7, groups=96),
    "conv_14_384_depthwise_7x7": convolution(32, 14, 384, 384, 7, groups=384),
    "attention_4096_128": attention("16 x 4096 x 128", (16, 4096, 128)),
    "attention_causal_16384_128": attention("4 x 16384 x 128, causal", (4, 16384, 128), causal=True),
    "attention_causal_4096_64": attention("16 x 4096 x 64, causal", (16, 4096, 64), causal=True),
    "attention_bert_b32": attention_by_rows("32 x 12 x 128 x 64", 32, 128, 12, 64),
    "attention_vit_b32": joined_attention("32 x 12 x 197 x 64", 32, 197, 12, 64),
    "attention_gpt2_b8": joined_attention("8 x 12 x 512 x 64, causal", 8, 512, 12, 64, causal=True),
    "attention_llama_2048": attention("32 / 8 x 2048 x 128, causal", (1, 8, 4, 2048, 128), (1, 8, 2048, 128), 32, 8, causal=True),
    "attention_bert_b1": attention("12 x 128 x 64", (12, 128, 64)),
    "attention_vit_b1": attention("12 x 197 x 64", (12, 197, 64)),
    "attention_gpt2_b1": attention("12 x 128 x 64, causal", (12, 128, 64), causal=True),
    "attention_decode_1024": attention("32 / 8 x 1 of 1024 x 64", (8, 4, 1, 64), (8, 1024, 64), 32, 8),
    "attention_decode_16384": attention("32 / 8 x 1 of 16384 x 64", (8, 4, 1, 64), (8, 16384, 64), 32, 8),
    "attention_decode_b32_2048": attention("32 x 32 / 8 x 1 of 2048 x 128", (256, 4, 1, 128), (256, 2048, 128), 32, 8),
}


def graph_us(torch, functions, launches=40, batches=9):
    """Median microseconds of one of `functions`, called one after the other in a captured graph."""
    for function in functions[:2]:
        function()
    torch.cuda.synchronize()
    count = max(1, launches // len(functions)) * len(functions)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(count):
            functions[number % len(functions)]()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    samples = []
    for _ in range(batches + 1):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end) * 1e3 / count)
    return statistics.median(samples[1:])


def random(torch, dtype, shape):
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, device="cuda", dtype=dtype)
    return (torch.rand(shape, device="cuda") * 2 - 1).to(dtype)


def peers_of(torch, blas, row, sets):
    """Lists of functions by a peer's name: one function for each set of operands."""
    def plain(make):
        return [lambda x=inputs: make(x) for inputs, _ in sets]
    function = row.function
    if row.kind.startswith("product"):
        every = [blas.products(*inputs, output, tf32=row.kind == ROUNDED) for inputs, output in sets]
        return {f"cuBLASLt, algorithm {number}": list(calls) for number, calls in enumerate(zip(*every))}
    if row.kind == "convolution":
        return {"cuDNN": plain(lambda inputs: function(torch, *inputs))}
    if row.kind == "attention":
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def by(backend):
            def make(inputs):
                with sdpa_kernel(backend):
                    return function(torch, *inputs)
            return plain(make)
        return {"flash": by(SDPBackend.FLASH_ATTENTION), "cuDNN": by(SDPBackend.CUDNN_ATTENTION)}
    library = {"PyTorch": plain(lambda inputs: function(torch, *inputs))}
    moved = sum(x.numel() * x.element_size() for x in sets[0][0]) + sets[0][1].numel() * sets[0][1].element_size()
    source = torch.empty(moved // 2, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return library | {"copy": [lambda: target.copy_(source)]}


def worst(torch, actual, exact):
    return ((actual.double() - exact).abs().max() / exact.abs().max().clamp(min=1e-30)).item()


def measure(torch, driver, blas, folder, launch, row):
    import packed
    types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i8": torch.int8, "i32": torch.int32}
    inputs, (output,) = launch.of("input"), launch.of("output")
    dtypes = [types[kind] for _, kind, _ in inputs]
    counts = [torch.Size(shape).numel() for shape in row.shapes]
    if counts != [count for _, _, count in inputs]:
        raise ValueError(f"the launch takes {[count for _, _, count in inputs]} elements, the row {counts}")
    torch.manual_seed(1)
    wide = [random(torch, dtype, shape) for dtype, shape in zip(dtypes, row.shapes)]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    exact_type = torch.float32 if wide[0].dtype in (torch.bfloat16, torch.float16) else torch.float64
    # Attention in f32 keeps its scores; a few heads show as much as all.
    exact = row.function(torch, *(x.to(exact_type) for x in wide)).contiguous()
    size = sum(x.numel() * x.element_size() for x in wide)
    copies = max(1, min(MOST_COPIES, -(-COLD_BYTES // size)))
    sets = [(wide if copy == 0 else [random(torch, x.dtype, x.shape) for x in wide],
             torch.zeros(exact.shape, dtype=types[output[1]], device="cuda")) for copy in range(copies)]
    kernel = packed.Loaded(driver, folder, launch)
    ours = [kernel.bound(torch, given, [made]) for given, made in sets]
    ours[0]()
    torch.cuda.synchronize()
    error, peer_error = worst(torch, sets[0][1], exact.double()), 0
    named = "tf32" if row.kind == ROUNDED else str(dtypes[0]).split(".")[-1]
    result = {"row": row.title, "kind": row.kind, "type": named, "machine": torch.cuda.get_device_name(),
              "torch": torch.__version__, "date": datetime.date.today().isoformat(), "error": error, "peers": {}}
    torch.backends.cudnn.benchmark = True
    for name, calls in peers_of(torch, blas, row, sets).items():
        try:
            if name != "copy":
                made = calls[0]()
                torch.cuda.synchronize()
                made = sets[0][1] if made is None else made
                peer_error = max(peer_error, worst(torch, made, exact.double()))
            result["peers"][name] = graph_us(torch, calls)
        except RuntimeError as failure:
            result.setdefault("failed", {})[name] = str(failure).strip().splitlines()[0][:200]
    units = {torch.bfloat16: 2 ** -8, torch.float16: 2 ** -11, torch.float32: 2 ** -22}
    unit = 2 ** -11 if row.kind == ROUNDED else units.get(sets[0][1].dtype, 0)
    if not error <= 2 * peer_error + unit:
        raise ValueError(f"error {error:.3g}, the peers' {peer_error:.3g}")
    # In turns with the fastest peer, since clocks drift.
    best = min(result["peers"], key=result["peers"].get)
    again = peers_of(torch, blas, row, sets)[best]
    pairs = [(graph_us(torch, ours), graph_us(torch, again)) for _ in range(3)]
    result["us"], result["best"] = (statistics.median(side) for side in zip(*pairs))
    result["peer"] = best.split(",")[0]
    result["flops"], result["bytes"] = launch.flops, launch.bytes
    return result


def show(row):
    rate = f"{row['flops'] / row['us'] * 1e-6:7.1f} TFLOP/s" if row["flops"] else f"{row['bytes'] / row['us'] * 1e-3:7.0f} GB/s"
    print(f"{row['row']:48} {row['type']:9} {row['us']:9.2f} us {rate:16} {row['peer']:9} {row['best']:9.2f} us  "
          f"{row['best'] / row['us']:.2f}  off {row['error']:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench kernels", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--json", type=pathlib.Path, help="a line for each row goes there as well")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.write:
        import report
        rows = [json.loads(line) for line in options.write.read_text(encoding="utf-8").splitlines()]
        report.write(SOURCE / "docs/performance.md", [], [], 2, kernels=rows)
        return 0
    if not options.folder:
        parser.error("needs the folder of packed launches")
    import torch
    import packed
    from cublaslt import CublasLt
    torch.zeros(1, device="cuda")
    launches, driver, blas, failed = packed.read(options.folder), packed.Driver(), CublasLt(torch), 0
    for name, row in ROWS.items():
        launch = launches.get(f"bench_{name}")
        if options.only not in name or not launch:
            continue
        try:
            result = measure(torch, driver, blas, options.folder, launch, row)
        except Exception as failure:  # the others are still of use
            print(f"{row.title:48} {type(failure).__name__}: {str(failure).strip()[:300]}", flush=True)
            failed += 1
            continue
        finally:
            torch.cuda.empty_cache()
        show(result)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
