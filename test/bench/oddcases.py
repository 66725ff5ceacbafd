"""Products, convolutions, attention and recurrent layers of sizes that nobody asks for, for `scripts/bench ops --only wide`.

Extents are 1, primes, just beside powers of two, or those of vocabularies. Of all their combinations a few are drawn, the
same in every run: each extent meets many others, and what is slow there is slow for all sizes like it.
"""
import random as chance

import torch
import torch.nn.functional as F
from torch import nn

from opcases import BF16, F16, F64, I8, SHORT, random, size_name
from widecases import wide

MOST = 6e8  # operations of a case
ROWS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 31, 33, 64, 127, 512)
EXTENTS = (1, 3, 7, 16, 31, 64, 100, 768, 1000, 4095, 4097, 32001)
CHANNELS = (1, 3, 5, 17, 31, 100, 513)
KERNELS = (1, 2, 3, 5, 7, 11, 31)


def drawn(seed, count, axes, fits):
    """`count` of all combinations, each value of each axis about as often as the others."""
    source, found, tries = chance.Random(seed), [], 0
    while len(found) < count and tries < 100 * count:
        tries += 1
        one = tuple(source.choice(axis) for axis in axes)
        if one not in found and fits(*one):
            found.append(one)
    return found


def products():
    forms = {"matmul": lambda m, k, n: (torch.matmul, (m, k), (k, n)), "nt": lambda m, k, n: (lambda x, y: x @ y.T, (m, k), (n, k)),
             "tn": lambda m, k, n: (lambda x, y: x.T @ y, (k, m), (k, n)), "tt": lambda m, k, n: (lambda x, y: x.T @ y.T, (k, m), (n, k))}
    for at, (m, k, n) in enumerate(drawn(1, 64, (ROWS, EXTENTS, EXTENTS), lambda m, k, n: 2e4 < 2 * m * k * n < MOST)):
        for form in ("matmul", "nt", ("tn", "tt")[at % 2]):
            wide(f"odd/{form}/{size_name(m, k, n)}", *forms[form](m, k, n))
        if at % 2:
            wide(f"odd/linear/{size_name(m, k, n)}", None, (m, k), state=lambda k=k, n=n: nn.Linear(k, n))
    for at, (m, k, n) in enumerate(drawn(2, 24, (ROWS, EXTENTS, EXTENTS), lambda m, k, n: 1e6 < 2 * m * k * n < MOST / 2)):
        for dtype in ((F64, F16), (BF16, F64), (F16, BF16))[at % 3]:
            for form in ("matmul", "nt"):
                wide(f"odd/{form}/{size_name(m, k, n)}/{SHORT[dtype]}",
                     *((*a, dtype) if isinstance(a, tuple) else a for a in forms[form](m, k, n)))
    for m, k, n in ((17, 768, 1000), (127, 4095, 100), (1, 4097, 768), (512, 64, 100)):
        wide(f"odd/int/{size_name(m, k, n)}", torch._int_mm, (max(m, 17), k // 8 * 8, I8), (k // 8 * 8, n // 8 * 8, I8))
    batches = (2, 3, 7, 12, 100)
    for b, m, k, n in drawn(3, 24, (batches, (1, 2, 3, 7, 16, 33, 100, 127), (1, 3, 16, 31, 64, 100, 513), (1, 3, 16, 31, 64, 100, 513)),
                            lambda b, m, k, n: 1e5 < 2 * b * m * k * n < MOST / 4):
        wide(f"odd/bmm/{size_name(b, m, k, n)}", torch.bmm, (b, m, k), (b, k, n))
        wide(f"odd/bmm_nt/{size_name(b, m, k, n)}", lambda x, y: x @ y.mT, (b, m, k), (b, n, k))
        wide(f"odd/bmm_strided/{size_name(b, m, k, n)}", lambda x, y: torch.einsum("mbk,kbn->bmn", x, y), (m, b, k), (k, b, n))
    for b, m, k, n in ((100, 4, 64, 513), (60, 3, 128, 300), (40, 5, 100, 1000)):
        wide(f"odd/bmm/{size_name(b, m, k, n)}/far", torch.bmm, (b, m, k), (b, k, n))
    for name, form, x, y in (
            ("heads_nt", "bhqd,bhkd->bhqk", (2, 7, 33, 40), (2, 7, 65, 40)), ("heads_out", "bhqk,bkhd->bqhd", (2, 7, 33, 65), (2, 65, 7, 40)),
            ("heads_in", "bqhd,bkhd->bhqk", (2, 33, 7, 40), (2, 65, 7, 40)), ("shared_right", "bmk,kn->bmn", (7, 33, 100), (100, 31)),
            ("shared_left", "mk,bkn->bmn", (33, 100), (7, 100, 513)), ("shared_groups", "bgmk,bkn->bgmn", (3, 4, 17, 64), (3, 64, 100)),
            ("by_column", "bmk,bk->bm", (16, 100, 513), (16, 513)), ("by_row", "bk,bkn->bn", (16, 513), (16, 513, 100)),
            ("outer_sum", "bi,bj->ij", (513, 100), (513, 31)), ("trailing_batch", "mkb,knb->mnb", (31, 33, 16), (33, 17, 16)),
            ("middle", "abc,cde->abde", (7, 33, 100), (100, 5, 31)), ("two_sums", "abcd,cde->abe", (7, 33, 17, 16), (17, 16, 100)),
            ("conv_like", "nchw,oc->nohw", (3, 31, 28, 28), (100, 31)), ("channels_last", "nhwc,oc->nhwo", (3, 28, 28, 31), (100, 31)),
            ("graph", "nij,bjf->bnif", (3, 64, 64), (5, 64, 17)), ("graph_narrow", "nij,bjf->bnif", (32, 100, 64), (100, 64, 2)),
            ("batch_summed", "bij,bjk->ik", (100, 64, 32), (100, 32, 100)), ("heads_joined", "bhqd,hdo->bqo", (2, 7, 33, 40), (7, 40, 65)),
            ("diagonal_left", "bi,bij->bij", (16, 100), (16, 100, 513)), ("chain", "bti,bsi->bts", (3, 100, 31), (3, 513, 31))):
        wide(f"odd/einsum/{name}", lambda a, b, f=form: torch.einsum(f, a, b), x, y)


def convolution(dims, channels, filters, kernel, stride, dilation, groups, batch, size, transposed=False):
    """Its module and shape of the input; None where it does not fit or is too much."""
    inputs, outputs = channels * groups if groups else channels, filters * max(1, groups)
    if groups == -1:
        inputs, outputs, groups = channels, 2 * channels, channels
    groups = max(1, groups)
    reach, padding = dilation * (kernel - 1) + 1, dilation * (kernel - 1) // 2
    out = size * stride if transposed else (size + 2 * padding - reach) // stride + 1
    points = (size if transposed else out) ** dims
    flops = 2 * batch * points * inputs * outputs // groups * kernel**dims
    if out < 1 or size < reach or not 1e6 < flops < MOST or batch * inputs * size**dims > 2e6 or batch * outputs * out**dims > 4e6:
        return None
    kinds = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d) if transposed else (nn.Conv1d, nn.Conv2d, nn.Conv3d)
    padding = min(padding, dilation * (kernel - 1)) if transposed else padding
    return (lambda: kinds[dims - 1](inputs, outputs, kernel, stride, padding, dilation=dilation, groups=groups)), (batch, inputs, *[size] * dims)


def convolutions():
    sizes = {1: (63, 100, 513, 1000, 4097), 2: (7, 13, 28, 31, 57, 100, 224), 3: (5, 9, 16, 31)}
    groups, strides = (0, 0, 0, 2, 3, 7, -1), (1, 1, 2, 3, 4)
    for dims, count, kernels in ((1, 24, KERNELS), (2, 56, KERNELS), (3, 16, KERNELS[:5])):
        axes = (CHANNELS, CHANNELS, kernels, strides, (1, 1, 2, 3), groups, (1, 1, 3, 16), sizes[dims])
        for one in drawn(dims, count, axes, lambda *a, d=dims: convolution(d, *a) is not None):
            make, shape = convolution(dims, *one)
            c, f, k, s, d, g, b, n = one
            wide(f"odd/conv{dims}d/{b}x{c}x{n}-{f}/k{k}s{s}d{d}g{g}", None, shape, state=make)
    for dims, count in ((1, 8), (2, 14), (3, 4)):
        axes = (CHANNELS, CHANNELS[1:], (2, 3, 4, 5), (1, 2, 3), (1,), (0, 0, 2), (1, 3), sizes[dims])
        for one in drawn(10 + dims, count, axes, lambda *a, d=dims: convolution(d, *a, transposed=True) is not None):
            make, shape = convolution(dims, *one, transposed=True)
            c, f, k, s, d, g, b, n = one
            wide(f"odd/transposed{dims}d/{b}x{c}x{n}-{f}/k{k}s{s}g{g}", None, shape, state=make)
    for name, kind, shape in (("3x299-32/k3s2", lambda: nn.Conv2d(3, 32, 3, 2), (1, 3, 299, 299)),
                              ("16x32x32-32/k3", lambda: nn.Conv3d(1, 32, 3, 1, 1), (1, 1, 16, 32, 32)),
                              ("8x28x28-32/k3", lambda: nn.Conv2d(1, 32, 3, 1, 1), (8, 1, 28, 28)),
                              ("80x500-32/k3s2", lambda: nn.Conv2d(1, 32, 3, 2, 1), (1, 1, 80, 500)),
                              ("16000-512/k10s5", lambda: nn.Conv1d(1, 512, 10, 5), (1, 1, 16000))):
        wide(f"odd/first/{name}", None, shape, state=kind)
    for m, dtype in ((2, F16), (4, F16), (4, BF16)):
        wide(f"odd/linear/{m}x4096x11008/{SHORT[dtype]}", None, (m, 4096, dtype), state=lambda d=dtype: nn.Linear(4096, 11008, bias=False).to(d))
    for dtype in (F64, F16, BF16):
        wide(f"odd/conv2d/32x28-64/k3/{SHORT[dtype]}", None, (1, 32, 28, 28, dtype), state=lambda d=dtype: nn.Conv2d(32, 64, 3, padding=1).to(d))


def late_filters():
    """Filters that come at run time, as of modulated and dynamic convolutions and of trackers."""
    for name, function, x, w in (
            ("64x56x56-64/k3", lambda x, w: F.conv2d(x, w, padding=1), (1, 64, 56, 56), (64, 64, 3, 3)),
            ("32x56x56-64/k3s2", lambda x, w: F.conv2d(x, w, None, 2, 1), (1, 32, 56, 56), (64, 32, 3, 3)),
            ("17x33x33-21/k3", lambda x, w: F.conv2d(x, w, padding=1), (3, 17, 33, 33), (21, 17, 3, 3)),
            ("2x16x1000-32/k5", lambda x, w: F.conv1d(x, w, padding=2), (2, 16, 1000), (32, 16, 5)),
            ("4x32x16x16-128/k3g4", lambda x, w: F.conv2d(x, w, padding=1, groups=4), (1, 128, 16, 16), (128, 32, 3, 3)),
            ("8x12x12x12-16/k3", lambda x, w: F.conv3d(x, w), (1, 8, 12, 12, 12), (16, 8, 3, 3, 3)),
            ("32x28x28-16/k4s2/transposed", lambda x, w: F.conv_transpose2d(x, w, None, 2, 1), (1, 32, 28, 28), (32, 16, 4, 4))):
        wide(f"odd/late/{name}", function, x, w)


def filters():
    """Filters that a run is given, and their gradients."""
    ones = lambda n, value: [value] * (n - 2)  # noqa: E731
    for x, w, stride, padding, groups in (((8, 64, 28, 28), (64, 64, 3, 3), 1, 1, 1), ((1, 192, 20, 20), (256, 192, 5, 5), 1, 2, 1),
                                          ((2, 3, 112, 112), (64, 3, 7, 7), 2, 3, 1), ((8, 128, 14, 14), (256, 128, 1, 1), 1, 0, 1),
                                          ((1, 64, 7, 7, 7), (64, 64, 3, 3, 3), 1, 1, 1), ((4, 128, 28, 28), (128, 4, 3, 3), 1, 1, 32),
                                          ((4, 80, 500), (96, 80, 3), 1, 1, 1), ((8, 64, 28, 28), (64, 1, 3, 3), 1, 1, 64)):
        label = f"{size_name(*x)}-{w[0]}/k{w[2]}s{stride}g{groups}"
        shape = (x[0], w[0], *((n + 2 * padding - w[2]) // stride + 1 for n in x[2:]))
        convolve = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(x)]
        wide(f"odd/filters/given/{label}", lambda a, b, f=convolve, s=stride, p=padding, g=groups: f(a, b, None, s, p, 1, g), x, w)
        wide(f"odd/filters/gradients/{label}", lambda y, a, b, n=len(x), s=stride, p=padding, g=groups: torch.ops.aten.convolution_backward(
            y, a, b, None, ones(n, s), ones(n, p), ones(n, 1), False, ones(n, 0), g, [True, True, False])[:2], shape, x, w)


def attentions():
    for b, h, q, k, d in ((1, 3, 33, 65, 24), (2, 5, 127, 127, 40), (1, 7, 200, 513, 56), (1, 1, 1000, 1000, 72), (3, 4, 1, 333, 80),
                          (1, 8, 17, 1025, 96), (1, 2, 257, 257, 160), (1, 4, 100, 100, 256), (16, 3, 49, 49, 32), (2, 9, 5, 5, 33)):
        label, shapes = size_name(b, h, q, k, d), ((b, h, q, d), (b, h, k, d), (b, h, k, d))
        attend = F.scaled_dot_product_attention
        wide(f"odd/attention/{label}", attend, *shapes)
        if q == k:
            wide(f"odd/attention/causal/{label}", lambda *x: F.scaled_dot_product_attention(*x, is_causal=True), *shapes)
        for name, mask in (("keys", (b, 1, 1, k)), ("heads", (1, h, q, k)), ("batch", (b, 1, q, k)))[:3 if q == 127 or q == 17 else 1]:
            wide(f"odd/attention/mask_{name}/{label}", attend, *shapes, mask)
    wide("odd/attention/offset", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torch.ones(17, 300, dtype=torch.bool).tril(283)),
         (1, 4, 17, 64), (1, 4, 300, 64), (1, 4, 300, 64))
    wide("odd/attention/window", lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, torch.ones(300, 300, dtype=torch.bool).tril().triu(-31)), *[(1, 4, 300, 64)] * 3)
    wide("odd/attention/wide_values", F.scaled_dot_product_attention, (1, 4, 100, 24), (1, 4, 100, 24), (1, 4, 100, 100))
    wide("odd/attention/last_heads", lambda q, k, v: F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2),
         *[(2, 127, 5, 40)] * 3)
    for dtype in (F64, F16, BF16):
        wide(f"odd/attention/{SHORT[dtype]}", F.scaled_dot_product_attention, *[(1, 5, 127, 40, dtype)] * 3)
    wide("odd/attention/written_out", lambda q, k, v: ((q @ k.mT) / 6.3).softmax(-1) @ v, *[(1, 5, 127, 40)] * 3)


def short_axes():
    """Phases, heads and pixels that lie across what they are read from, and rows that are no whole accesses."""
    for label, kind, shape in (("8x256x64-128k2s2", lambda: nn.ConvTranspose2d(256, 128, 2, 2), (8, 256, 64, 64)),
                               ("8x256x32-128k4s2", lambda: nn.ConvTranspose2d(256, 128, 4, 2, 1), (8, 256, 32, 32)),
                               ("4x64x64-64k3s2", lambda: nn.ConvTranspose2d(64, 64, 3, 2, 1, 1), (4, 64, 64, 64)),
                               ("8x128x1000-64k16s8", lambda: nn.ConvTranspose1d(128, 64, 16, 8, 4), (8, 128, 1000))):
        wide(f"odd/phases/{label}", None, shape, state=kind)
    wide("odd/turned/heads", lambda x: x.view(4, 512, 12, 64).permute(0, 2, 3, 1).contiguous(), (4, 512, 768))
    wide("odd/turned/7x7", lambda x: x.permute(0, 3, 1, 2).contiguous(), (16, 7, 7, 2048))
    for b, m, k, n in ((8, 1280, 49, 197), (2, 1000, 77, 501), (16, 1280, 17, 333), (12, 512, 64, 513)):
        wide(f"odd/bmm/{size_name(b, m, k, n)}/lines", torch.bmm, (b, m, k), (b, k, n))
        wide(f"odd/bmm_nt/{size_name(b, m, k, n)}/lines", lambda x, y: x @ y.mT, (b, m, k), (b, n, k))
    wide("odd/scatter/48x512x512u64", lambda x, i, u: x.scatter(-1, i, u), (48, 512, 512),
         lambda: torch.rand(48, 512, 512).argsort(-1)[..., :64].contiguous(), (48, 512, 64))
    wide("odd/grid_sample/8x3x224", lambda x, g: F.grid_sample(x, g, align_corners=False), (8, 3, 224, 224),
         lambda: torch.rand(8, 224, 224, 2) * 2 - 1)


def recurrent():
    for name, kind in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)):
        for b, t, i, h in ((1, 31, 7, 31), (3, 17, 100, 100), (16, 9, 31, 513), (1, 100, 64, 256)):
            wide(f"odd/{name}/{size_name(b, t, i, h)}", None, (b, t, i), state=lambda k=kind, i=i, h=h: k(i, h, batch_first=True))
    wide("odd/lstm/both_ways", None, (1, 33, 31), state=lambda: nn.LSTM(31, 65, 2, batch_first=True, bidirectional=True))
    wide("odd/lstm/cell", lambda *x: torch.lstm_cell(x[0], x[1:3], *x[3:]), (1, 100), (1, 257), (1, 257), (1028, 100), (1028, 257))
    wide("odd/lstm/cell_of_rows", lambda *x: torch.lstm_cell(x[0], x[1:3], *x[3:]), (8, 128), (8, 256), (8, 256), (1024, 128), (1024, 256),
         (1024,), (1024,))
    wide("odd/gru/cell_of_one", lambda *x: torch.gru_cell(*x), (1, 128), (1, 256), (768, 128), (768, 256), (768,), (768,))
    wide("odd/gru/cell", lambda *x: torch.gru_cell(*x), (7, 31), (7, 100), (300, 31), (300, 100))


for family in (products, convolutions, late_filters, filters, attentions, short_axes, recurrent):
    family()
