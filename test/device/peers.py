"""What PyTorch takes for the launches of bench.mlir: medians between events, compiled where that helps."""
import torch


def median_us(fn, batches=7):
    fn()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def batch(count):
        begin.record()
        for _ in range(count):
            fn()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / count

    count = max(1, min(50, int(20000 / max(batch(2), 1))))
    return sorted(batch(count) for _ in range(batches))[batches // 2]


def report(name, us, flops=0, bytes=0):
    rates = (f" {bytes / us * 1e-3:6.0f} GB/s" if bytes else "") + (f" {flops / us * 1e-6:6.1f} TFLOP/s" if flops else "")
    print(f"torch {name:38} {us:9.1f} us{rates}", flush=True)


def attention(batch, heads, shared, length, width, causal):
    """Heads of queries, of which some share keys and values; flops count keys that are hidden too."""
    q = torch.randn(batch, heads, length, width, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(batch, shared, length, width, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    attend = torch.nn.functional.scaled_dot_product_attention
    us = median_us(lambda: attend(q, k, v, is_causal=causal, enable_gqa=heads != shared))
    name = f"attention {batch}x{heads}x{length}x{width}" + (" causal" if causal else "")
    report(name, us, flops=4 * batch * heads * length**2 * width)


def main():
    print("torch", torch.__version__, torch.cuda.get_device_name())
    rows, columns = 8192, 4096
    functional = torch.nn.functional
    for dtype in (torch.float32, torch.bfloat16):
        x, z = (torch.randn(rows, columns, device="cuda", dtype=dtype) for _ in range(2))
        g, b = (torch.randn(columns, device="cuda", dtype=dtype) for _ in range(2))
        size, label = x.numel() * x.element_size(), str(dtype).split(".")[-1]
        y = torch.empty_like(x)
        report(f"copy_ {label}", median_us(lambda: y.copy_(x)), bytes=2 * size)
        report(f"softmax {label}", median_us(lambda: torch.softmax(x, 1)), bytes=2 * size)
        report(f"layer_norm {label}", median_us(lambda: functional.layer_norm(x, (columns,), g, b)), bytes=2 * size)
        report(f"transpose {label}", median_us(lambda: x.t().contiguous()), bytes=2 * size)
        report(f"sum_leading {label}", median_us(lambda: x.sum(0)), bytes=size)
        report(f"sum_all {label}", median_us(lambda: x.sum()), bytes=size)
        compiled = torch.compile(lambda u, v: functional.gelu(u + v))
        report(f"compiled gelu(x + z) {label}", median_us(lambda: compiled(x, z)), bytes=3 * size)
        wave = torch.compile(lambda u: torch.sin(torch.cos(u)))
        report(f"compiled sin(cos x) {label}", median_us(lambda: wave(x)), bytes=2 * size)
    for m, n, k in ((8192,) * 3, (4096,) * 3, (1024, 4096, 4096), (1000, 1208, 1096), (4096, 3072, 768)):
        a, w = (torch.rand(s, k, device="cuda", dtype=torch.bfloat16) * 2 - 1 for s in (m, n))
        report(f"linear bf16 {m}x{n}x{k}", median_us(lambda: functional.linear(a, w)), flops=2 * m * n * k)
    a, w = (torch.rand(2048, 2048, device="cuda") for _ in range(2))
    report("linear f32 2048x2048x2048", median_us(lambda: functional.linear(a, w)), flops=2 * 2048**3)
    x = torch.randn(8, 4194304, device="cuda")
    report("amax 8 rows", median_us(lambda: x.amax(1)), bytes=x.numel() * 4)
    x = torch.randn(524288, 64, device="cuda")
    report("sum leading 64", median_us(lambda: x.sum(0)), bytes=x.numel() * 4)
    x = torch.randn(32, 64, 56, 56, device="cuda").to(memory_format=torch.channels_last)
    w = torch.randn(64, 64, 3, 3, device="cuda").to(memory_format=torch.channels_last)
    torch.backends.cudnn.allow_tf32 = False
    report("conv f32 32x56x56x64 3x3", median_us(lambda: functional.conv2d(x, w, padding=1)), flops=2 * 32 * 56 * 56 * 64 * 64 * 9)
    for case in (
        (1, 16, 16, 4096, 128, False),
        (1, 4, 4, 16384, 128, True),
        (1, 16, 16, 4096, 64, True),
        (32, 12, 12, 128, 64, False),
        (32, 12, 12, 197, 64, False),
        (8, 12, 12, 512, 64, True),
        (1, 32, 8, 2048, 128, True),
    ):
        attention(*case)


main()
