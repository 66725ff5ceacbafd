"""The models of zoo.py that no package has: torch.nn's networks, and programs of every form torch.export gives."""
import torch
from torch import nn
import torch.nn.functional as F

from zoo_models import TEXTS, First, add, random, rows


# ---------------------------------------------------------------------------- torch.nn

class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.net = getattr(nn, kind)(5, 7, **options)

    def forward(self, x):
        return self.net(x)


# torch.export unrolls recurrent layers: their length is that of the example.
SEQUENCES = [(batch, TEXTS[-1][1]) for batch, _ in TEXTS]
for _kind in ["LSTM", "GRU", "RNN"]:
    add(f"nn-{_kind}", lambda kind=_kind: Recurrent(kind, num_layers=2, bidirectional=True, batch_first=True),
        lambda batch, length: ((torch.randn(batch, length, 5, generator=random(batch, length)),), {}), SEQUENCES, (0,))
add("nn-LSTM-projected", lambda: Recurrent("LSTM", proj_size=3, num_layers=2), lambda batch, length: (
    (torch.randn(length, batch, 5, generator=random(batch, length)),), {}), SEQUENCES, (1,))
add("nn-LSTM-cell", lambda: nn.LSTMCell(5, 7), rows(5))
add("nn-GRU-cell", lambda: nn.GRUCell(5, 7), rows(5))


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Transformer(16, 4, 1, 1, 32, batch_first=True)

    def forward(self, x, y):
        mask = nn.Transformer.generate_square_subsequent_mask(y.shape[1])
        return self.net(x, y, tgt_mask=mask, tgt_is_causal=True)


add("nn-Transformer", Seq2Seq, lambda batch, length: (
    (torch.randn(batch, length, 16, generator=random(batch)), torch.randn(batch, length + 2, 16, generator=random(9))),
    {}), TEXTS, (0,))
add("nn-encoder-layers", lambda: nn.TransformerEncoder(
    nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True), 2, enable_nested_tensor=False),
    lambda batch, length: ((torch.randn(batch, length, 16, generator=random(batch)),), {
        "src_key_padding_mask": torch.arange(length)[None] >= (length - torch.arange(batch)[:, None])}), TEXTS, (0, 1))
add("nn-MultiheadAttention", lambda: First(nn.MultiheadAttention(16, 4, batch_first=True, add_bias_kv=True),
                                           lambda output: output),
    lambda batch, length: ((), {name: torch.randn(batch, length, 16, generator=random(batch, i))
                                for i, name in enumerate(["query", "key", "value"])}), TEXTS, (0, 1))


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.sums, self.means = nn.EmbeddingBag(20, 6, mode="sum"), nn.EmbeddingBag(20, 6, mode="mean")
        self.most, self.top = nn.EmbeddingBag(20, 6, mode="max"), nn.Linear(18, 1)

    def forward(self, ids, offsets):
        return self.top(torch.cat([bag(ids, offsets) for bag in (self.sums, self.means, self.most)], -1)).sigmoid()


add("nn-EmbeddingBag", Bags, lambda batch: ((torch.randint(0, 20, (11,), generator=random(batch)),
                                             torch.tensor([0, 3, 3, 7])), {}), [(1,), (2,)], ())


class Tower(nn.Module):
    """Convolutions over any number of axes, down and up again."""

    def __init__(self, n):
        super().__init__()
        conv, transposed = getattr(nn, f"Conv{n}d"), getattr(nn, f"ConvTranspose{n}d")
        self.layers = nn.Sequential(
            conv(3, 8, 3, padding=1, padding_mode="reflect"), getattr(nn, f"BatchNorm{n}d")(8), nn.PReLU(8),
            conv(8, 8, 3, stride=2, padding=1, groups=4), getattr(nn, f"InstanceNorm{n}d")(8, affine=True), nn.Mish(),
            conv(8, 16, 2, dilation=2, padding="same"), nn.GroupNorm(4, 16), nn.Hardswish(),
            transposed(16, 4, 3, stride=2, padding=1, output_padding=1), nn.Softplus(),
            getattr(nn, f"AvgPool{n}d")(2, ceil_mode=True), getattr(nn, f"AdaptiveMaxPool{n}d")(3))

    def forward(self, x):
        return self.layers(x)


for _n in (1, 2, 3):
    add(f"nn-Conv{_n}d", lambda n=_n: Tower(n), rows(3, *[12] * _n))


class Unet(nn.Module):
    """A diffusion model's: time embedding, residual blocks, attention, skips."""

    def __init__(self, width=16):
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, width * 2), nn.SiLU(), nn.Linear(width * 2, width))
        self.start, self.down = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, width, 3, 2, 1)
        self.norms = nn.ModuleList([nn.GroupNorm(4, width) for _ in range(3)])
        self.blocks = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.end = nn.Conv2d(2 * width, 3, 3, padding=1)

    def forward(self, x, step):
        rates = torch.exp(torch.arange(self.width // 2, device=x.device) * (-9.0 / (self.width // 2)))
        angles = step[:, None].to(x.dtype) * rates[None].to(x.dtype)
        time = self.time(torch.cat([angles.sin(), angles.cos()], -1))[:, :, None, None]
        h = skip = self.start(x)
        h = self.down(h)
        for norm, block in zip(self.norms, self.blocks):
            h = h + block(F.silu(norm(h))) + time
        rows = h.flatten(2).transpose(1, 2)
        h = h + self.attention(rows, rows, rows, need_weights=False)[0].transpose(1, 2).reshape(h.shape)
        h = F.interpolate(h, scale_factor=2.0, mode="nearest")
        return self.end(torch.cat([h, skip], 1))


add("nn-Unet", Unet, lambda batch: ((torch.randn(batch, 3, 16, 16, generator=random(batch)),
                                     torch.randint(0, 1000, (batch,), generator=random(batch, 1))), {}))


# ---------------------------------------------------------------------------- forms of programs

def function(name, call, inputs, sizes=None, dynamic=(0,), **tensors):
    """A module of one function call(module, *args, **kwargs) with these parameters (floats) and buffers."""
    class Program(nn.Module):
        calibrated = False

        def __init__(self):
            super().__init__()
            for key, make in tensors.items():
                value = make()
                if value.is_floating_point() and not key.startswith("buffer"):
                    self.register_parameter(key, nn.Parameter(value))
                else:
                    self.register_buffer(key, value, persistent=not key.endswith("temporary"))

    Program.forward = call
    add("form-" + name, Program, inputs, sizes, dynamic)


def nested(batch):
    r = random(batch)
    return ({"a": torch.randn(batch, 4, generator=r), "b": [torch.randn(batch, 4, generator=r),
                                                            (torch.randn(batch, generator=r),)]},), \
        {"scale": torch.tensor(2.5)}


def nested_call(self, tree, scale):
    x, (y, (z,)) = tree["a"], tree["b"]
    return {"sum": x + y * scale, "parts": [z.exp(), (x > y).any(-1)], "none": None, "again": x + y * scale}


function("nested", nested_call, nested)
function("types", lambda self, x, n, m: [
    x.half() * 2, x.bfloat16() + n, x.double().sin(), n // 3, n.to(torch.uint8) + 250, m & (x[:, 0] > 0), ~m, n.short(),
    (n > 2).sum(), x.to(torch.float16).softmax(-1), x.bfloat16() @ self.w.bfloat16()],
    lambda batch: ((torch.randn(batch, 4, generator=random(batch)), torch.arange(batch * 4).reshape(batch, 4),
                    torch.arange(batch) % 2 == 0), {}), w=lambda: torch.randn(4, 3))
function("extents", lambda self, x: [
    x.reshape(-1, 2), x.new_zeros(x.shape[0] * 2, 3), torch.arange(x.shape[0]), x.sum() * x.shape[0],
    F.pad(x, (0, 0, x.shape[0] - 1, 1)), x.repeat(x.shape[0], 1), torch.full((x.shape[0],), x.shape[0] / 2),
    F.avg_pool2d(x[None, None], x.shape), x.view(x.shape[0] // 1, 2, 2).flip(0), torch.cat([x, x[: x.shape[0] // 2]]),
    F.interpolate(x[None, None], size=(x.shape[0] * 2, 5), mode="bilinear")], rows(4), [(2,), (5,)])


def own_filters(self, x, w):
    """Each image by filters of its own, also transposed, and all by those of the first, whose window is no constant."""
    batch, _, height, width = x.shape
    joined, pairs = x.reshape(1, -1, height, width), w.reshape(-1, 1, *w.shape[3:])
    template = x[0, :, : height // 2, : width // 2]
    return [F.conv2d(joined, w.flatten(0, 1), padding=1, groups=batch), F.conv2d(joined, w[:, 0].reshape(-1, 1, 3, 2), groups=batch * 3),
            F.conv_transpose2d(joined, w.transpose(1, 2).flatten(0, 1), stride=2, padding=(1, 0), output_padding=1, groups=batch),
            F.conv2d(x, template[None], padding=1, stride=(1, 2)), F.conv2d(x, w[0], pairs[: w.shape[1], 0, 0, 0])]


function("filters", own_filters, lambda batch, size: ((
    torch.randn(batch, 3, size, size + 1, generator=random(batch, size)),
    torch.randn(batch, 4, 3, 3, 2, generator=random(batch))), {}), [(1, 6), (4, 9)])
function("constants", lambda self, x: [
    x * torch.tensor([1.0, 2, 3, 4]), x @ self.buffer_temporary, x + self.buffer_kept, x @ self.w.t(), x * 3.5e-3,
    self.w.sum(), self.buffer_kept + 1],
    rows(4), w=lambda: torch.randn(4, 4), buffer_temporary=lambda: torch.randn(4, 3), buffer_kept=lambda: torch.ones(4))
function("views", lambda self, x: [x, x, x.t(), x[:, 1:], x.unsqueeze(0).expand(3, -1, -1), x[::2], x.detach().clone(),
                                          x.roll(1, 0), x.roll((-5, 1), (0, 1)), x.roll(3)], rows(4), [(2,), (0,), (3,)])
function("complex", lambda self, x: [
    torch.fft.rfft(x).abs(), torch.view_as_real(torch.fft.fft2(x)), torch.fft.irfft(torch.fft.rfft(x) * self.w, n=8),
    torch.stft(x, 8, 4, window=self.buffer_window, return_complex=True).abs().pow(2),
    torch.view_as_complex(x.unflatten(1, (4, 2))).prod(0), torch.view_as_complex(x.unflatten(1, (4, 2))).cumprod(0)],
    rows(8), [(2,), (1,), (7,)], w=lambda: torch.randn(5), buffer_window=lambda: torch.hann_window(8))
function("sampling", lambda self, x: [
    torch.topk(x, 3).values, torch.topk(x, 3).indices, x.sort(-1, descending=True).values.cumsum(-1), x.argmax(-1),
    torch.where(x < torch.topk(x, 2).values[..., -1:], -torch.inf, x).softmax(-1),
    F.one_hot(x.argmax(-1), 8), torch.gather(x, 1, x.argsort(-1)), torch.bincount(x.argmax(-1), minlength=8),
    torch.searchsorted(self.buffer_edges, x)], rows(8), buffer_edges=lambda: torch.linspace(-1, 1, 5))
function("indexing", lambda self, x, n: [
    x[n], x[:, n % 4], x[n, n % 4], x.index_put((n,), torch.ones(())), x[x > 0].sum(), x.masked_fill(x > 0, 0),
    x.index_add(0, n, x[n]), torch.scatter(x, 1, n[:, None] % 4, 9.0), x.nonzero().shape[0] * x[:1], x.unfold(1, 2, 1)],
    lambda batch: ((torch.randn(batch, 4, generator=random(batch)), torch.randint(0, batch, (batch,), generator=random(batch))),
                   {}), [(3,), (5,)])
function("linalg", lambda self, x: [
    torch.linalg.inv(x), torch.linalg.solve(x, x.mT), torch.linalg.det(x), torch.linalg.svdvals(x),
    torch.linalg.eigvalsh(x @ x.mT), torch.linalg.cholesky(x @ x.mT), torch.linalg.pinv(x), torch.linalg.matrix_norm(x, 2)],
    lambda batch: ((torch.randn(batch, 6, 6, generator=random(batch)) + 3 * torch.eye(6),), {}), [(2,), (3,)])


def loops(self, x):
    from torch._higher_order_ops.map import map as over
    n = torch.zeros((), dtype=torch.int64)
    _, y = torch.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x.sin() + 1), (n, x))
    return [y, torch.cond(x.sum() > 0, torch.cos, torch.sin, (x,)), over(lambda row, w: row @ w, x, self.w)]


function("loops", loops, rows(4), [(2,), (3,)], w=lambda: torch.randn(4, 3))


def scans(self, x):
    from torch._higher_order_ops.scan import scan
    last, every = scan(lambda carry, row: (carry * 0.5 + row, (carry + row).sin()), torch.zeros(4), x)
    return [last, every]


function("scans", scans, rows(4), [(2,), (0,), (5,)])


def hinted(self, x):
    """A subgraph with hints for some compiler, and a line printed."""
    from torch._higher_order_ops.hints_wrap import hints_wrapper
    torch.ops.aten._print("not by a compiled model")
    return [hints_wrapper(lambda x, y: x.sin() + y, (x, x * 2), {}, hints={"cascaded": True})]


function("hints", hinted, rows(4), [(2,), (5,)])


def scaled_bytes(self, x):
    a, b = x.to(torch.float8_e4m3fn), self.b.to(torch.float8_e4m3fn).t()
    each = x.float().abs().amax(1, keepdim=True)
    one, line = F.ScalingType.TensorWise, F.ScalingType.RowWise
    return [torch._scaled_mm(a, b, each.new_tensor(0.5), each.new_tensor(2.0), out_dtype=torch.float32),
            torch._scaled_mm(a, b, each, self.columns.float(), bias=self.bias.bfloat16(), out_dtype=torch.bfloat16),
            F.scaled_mm(a, b, each.new_tensor(0.5), one, each.new_tensor(2.0), one, output_dtype=torch.float32),
            F.scaled_mm(a, b, each, line, self.columns.float(), line, output_dtype=torch.float32)]


function("scaled-bytes", scaled_bytes, rows(32), [(16,), (5,)], b=lambda: torch.randn(16, 32), columns=lambda: torch.rand(1, 16),
         bias=lambda: torch.randn(16))
