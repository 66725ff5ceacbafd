"""The programs of export.py: small models, several operators in each, with their inputs and dynamic dims."""
import torch
import torch.nn.functional as F
from torch import nn

from blocks import blocks
from complexes import complexes
from computed import computed
from lists import lists
from scalars import scalars
from slopes import slopes
from specials import specials
from tangents import tangents
from writing import written

AUTO = torch.export.Dim.AUTO


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def cases():
    """(name, module or function, inputs, dynamic dims)"""
    random = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.randn(*shape, generator=random)

    def uniform(*shape):
        return torch.rand(*shape, generator=random)

    def integers(low, high, *shape):
        return torch.randint(low, high, shape, generator=random)

    x, y, v = normal(3, 4), normal(3, 4), normal(4)
    p, u = uniform(3, 4) + 0.1, uniform(3, 4) * 0.8 + 0.05
    i, j = integers(-5, 6, 3, 4), integers(1, 5, 3, 4)
    b, c = x > 0, y > 0
    t, image = normal(2, 3, 4), normal(2, 4, 7, 9)
    nan, inf = float("nan"), float("inf")
    special = torch.tensor([[1.0, nan, inf, -inf], [0.0, -0.0, 2.5, -3.5], [0.5, 1.5, -0.5, -1.5]])

    def each(names, module=torch):
        functions = [getattr(module, name) for name in names.split()]
        return lambda *args: [f(*args) for f in functions]

    yield "unary", each(
        "exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh sigmoid erf erfc neg abs floor ceil trunc round frac "
        "sign sgn square relu logical_not signbit rad2deg deg2rad sinc positive"), (x,)
    yield "unary_positive", each("log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma i0"), (p * 3,)
    yield "unary_unit", each("asin acos atanh erfinv logit"), (u,)
    yield "unary_special", each(
        "floor ceil trunc round sign isnan isinf isfinite nan_to_num signbit abs relu logical_not isposinf "
        "isneginf"), (special,)
    yield "unary_integer", each("exp sin sigmoid tanh abs neg sign square floor relu isnan isfinite logical_not "
                                "bitwise_not"), (i,)
    yield "binary", each("add sub mul div maximum minimum fmax fmin atan2 hypot copysign logaddexp logaddexp2 eq ne "
                         "lt le gt ge nextafter xlogy heaviside isclose"), (x, y)
    yield "binary_special", each("maximum minimum fmax fmin copysign heaviside eq lt ge"), (special, special.flip(0))
    yield "binary_broadcast", each("add sub mul div maximum atan2 lt pow remainder fmod floor_divide"), (p, v.abs() + 0.5)
    yield "binary_integer", each("add sub mul maximum minimum eq lt remainder fmod floor_divide bitwise_and "
                                 "bitwise_or bitwise_xor pow true_divide"), (i, j)
    yield "binary_bool", each("logical_and logical_or logical_xor bitwise_and maximum add mul eq"), (b, c)
    yield "scalars", lambda a, n: [
        a + 1, a * 2.5, a / 3, 1 - a, a > 0.5, a == 1, a % 2, a // 2, a**2, a**3, a**0.5, a**-1, 2**a, a**2.5,
        n + 1, n * 2.5, n / 3, n - 1, n > 0, n % 3, n // 2, n**2, n << 1, n >> 1,
        torch.add(a, a, alpha=2.5), torch.sub(n, n, alpha=2), torch.rsub(a, 3, alpha=2)], (p, i)
    yield "promotion", lambda a, n, m: [
        a + n, a * n, n < a, n / 2, torch.where(n > 0, n, a), m + n, m < n, m * a,
        n + torch.tensor(2.5), a * torch.tensor(3), torch.cat([a, n])], (x, i, b)
    yield "narrow_floats", lambda a, h: [
        a + h, a * h, a / h, torch.sigmoid(a), F.gelu(a), torch.softmax(a, -1), a.sum(-1), a.mean(), a @ h.t(),
        torch.add(a, h, alpha=0.3)], (x.bfloat16(), p.bfloat16())
    yield "select_and_clamp", lambda a, d, m: [
        a.clamp(-0.5, 0.5), a.clamp(min=0), a.clamp(max=0.2), torch.clamp(a, min=d), torch.where(m, a, d),
        torch.where(m, a, 0.5), a.masked_fill(m, -inf), torch.addcmul(a, d, d, value=0.5),
        torch.addcdiv(a, d, d.abs() + 1), torch.lerp(a, d, 0.3), torch.div(a, d, rounding_mode="floor"),
        torch.div(a, d, rounding_mode="trunc")], (x, y, b)
    yield "activations", each(
        "relu relu6 hardtanh hardsigmoid hardswish silu gelu elu selu celu leaky_relu softplus logsigmoid mish "
        "softsign tanhshrink softshrink hardshrink rrelu glu", F), (x * 3,)
    yield "activations_more", lambda a, w: [
        F.gelu(a, approximate="tanh"), F.prelu(a, w), F.threshold(a, 0.1, 20.0), F.elu(a, 0.5), F.softmax(a, 1),
        F.log_softmax(a, 0), F.softmin(a, -1), torch.logsumexp(a, (0, 1))], (image, uniform(4))

    yield "views", lambda a: [
        a.view(6, 4), a.view(2, -1), a.reshape(4, 6), a.flatten(1), a.ravel(), a.unflatten(2, (2, 2)),
        a.permute(2, 0, 1), a.transpose(-1, 0), a.movedim(0, 2), a.mT, a[0].t(), a.unsqueeze(-1), a[:1].squeeze(),
        a[:1].squeeze(0), a[:1].expand(5, 3, 4), a[:, :1].expand(-1, 3, -1), a[:1].expand_as(a)], (t,)
    yield "views_dynamic", lambda a: [
        a.view(a.shape[0], -1), a.reshape(-1, 4), a.flatten(0, 1), a.unsqueeze(1).expand(-1, 5, -1, -1), a[:, 1:],
        a[..., :-1], a[:, -2:], a[:, ::2], a[:, -1], a[:, : a.shape[1] // 2]], (t,), ({0: AUTO, 1: AUTO},)
    yield "slices", lambda a: [
        a[:, 1:], a[..., :-1], a[:, -2:, 1:3], a[:, ::2], a[1], a[:, -1], a.narrow(1, 1, 2), a[:, 5:], a[-10:1],
        torch.split(a, 2, 2), torch.split(a, [1, 2], 1), torch.chunk(a, 3, 2), a.unbind(1),
        torch.tensor_split(a, 3, 2), torch.hsplit(a, 3), torch.diagonal(a, 1, 0, 2), a.unfold(2, 2, 1)], (t,)
    yield "diagonals", lambda a: [
        torch.diag_embed(a, 1), torch.diag_embed(a, -2, 0, 2), torch.diag(a[0, 0]), torch.diagonal(a[0], -1),
        a.tril(), a.triu(1), torch.tril_indices(3, 3)], (t,)
    yield "joins", lambda a, d, s: [
        torch.cat([a, d, a], -1), torch.stack([a, d], 1), torch.hstack([a, d]), torch.vstack([a, d]),
        torch.dstack([a, d]), s.repeat(3, 2, 1, 2), s.tile(2), torch.repeat_interleave(s, 2, 1), s.flip(0, 2),
        torch.roll(s, (1, -2), (1, 2)), torch.roll(s, 3), torch.rot90(s, 1, (1, 2)),
        torch.meshgrid(a[0], d[0], indexing="xy")], (x, y, t)
    yield "scatter_views", lambda a, d: [
        torch.select_scatter(a, d[0], 0, 1), torch.slice_scatter(a, d[:, 1:], 1, 0, 2),
        torch.diagonal_scatter(a, d[:, 0, :3], 0, 1, 2)], (t, normal(2, 3, 4))
    yield "pixels", lambda a: [F.pixel_shuffle(a, 2), F.pixel_unshuffle(a, 2), F.channel_shuffle(a, 2)], (
        normal(2, 4, 6, 8),)
    yield "creation", lambda a: [
        torch.full((2, 3), 1.5), torch.zeros_like(a), a.new_ones(3), a * torch.eye(3, 4), torch.arange(1, 10, 3),
        torch.arange(0, 1, 0.25), torch.arange(5, 0, -2), torch.linspace(3, -2, 7), torch.logspace(0, 2, 4),
        torch.arange(a.shape[0]), torch.arange(a.shape[0], -a.shape[0], -2.0), torch.zeros(a.shape[0], 2), a.int(), a.double(),
        a.bool(), a.half()], (x,), ({0: AUTO},)
    yield "complex", lambda a, f: torch.view_as_real(
        torch.view_as_complex(a.reshape(2, 3, 2, 2)) * torch.polar(torch.ones_like(f), f)).flatten(2), (t, normal(3, 2))

    yield "reductions", lambda a: [
        a.sum(), a.sum((0, 2)), a.sum(-1, keepdim=True), a.mean(), a.mean((1, 2)), a.prod(1), a.max(), a.max(1),
        a.min(-1, keepdim=True), a.amax((0, 1)), a.argmax(), a.argmin(1), a.argmax(0, keepdim=True),
        torch.aminmax(a), a.var(), a.var((0, 2), unbiased=False), a.std(1, keepdim=True), torch.var_mean(a, 1),
        a.norm(), torch.linalg.vector_norm(a, 3, dim=(1, 2)), torch.linalg.vector_norm(a, inf, dim=-1)], (t,)
    yield "empty_norms", lambda a, d: [
        torch.linalg.norm(a, 1), torch.linalg.norm(a, inf), torch.linalg.norm(a), torch.linalg.norm(a, "fro"),
        torch.linalg.norm(d, 1), torch.linalg.matrix_norm(d, inf, keepdim=True)], (
            torch.zeros(0, 0), torch.zeros(3, 0))
    yield "reductions_integer", lambda n: [
        n.sum(), n.prod(1), n.max(), n.argmax(1), n.cumsum(0), n.any(), n.all(1), torch.count_nonzero(n, 1)], (i,)
    yield "scans_and_sorts", lambda a: [
        a.cumsum(1), a.cumprod(2), torch.logcumsumexp(a, 1), torch.cummax(a, 1), torch.cummin(a, 2), a.sort(),
        a.sort(0, descending=True), a.topk(2), a.kthvalue(2), a.median(), a.median(1)], (t,)

    yield "products", lambda a, d, s: [
        a @ d.t(), torch.matmul(s, d.t()), torch.bmm(s, s.mT), torch.mv(a, d[0]), torch.dot(a[0], d[0]),
        torch.outer(a[0], d[0]), a[0] @ d.t(), torch.inner(a, d), torch.addmm(d[:, :3], a, d.t(), beta=0.5, alpha=2),
        torch.addmv(a[:, 0], a, d[0]), F.linear(s, d, d[:, 0]), F.linear(s, d[0])], (x, y, t)
    yield "linear_dynamic", lambda a, w, d: F.linear(a, w, d), (t, normal(5, 4), normal(5)), ({0: AUTO, 1: AUTO}, None, None)
    mask = uniform(2, 1, 5, 5) > 0.4
    mask[0, 0, 2] = False
    yield "attention", lambda q, k, w, m: [
        F.scaled_dot_product_attention(q, k, w), F.scaled_dot_product_attention(q, k, w, is_causal=True, scale=0.3),
        F.scaled_dot_product_attention(q, k, w, m), F.scaled_dot_product_attention(q, k, w, m[0, 0].float()),
        F.scaled_dot_product_attention(q, k[:, :2], w[:, :2], enable_gqa=True)], (
            normal(2, 4, 5, 8), normal(2, 4, 5, 8), normal(2, 4, 5, 8), mask)
    yield "transformer_layer", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (normal(2, 5, 8),)
    for name, module, shape in (
            ("conv1d", nn.Conv1d(4, 6, 3, 2, 1), (2, 4, 9)),
            ("conv2d", nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), dilation=(1, 2), groups=2, bias=False), (2, 4, 7, 9)),
            ("conv2d_same", nn.Conv2d(4, 6, 4, padding="same"), (2, 4, 7, 9)),
            ("conv3d", nn.Conv3d(2, 3, 2), (1, 2, 4, 5, 6)),
            ("conv_transpose1d", nn.ConvTranspose1d(4, 6, 3, 2, 1, 1), (2, 4, 9)),
            ("conv_transpose2d", nn.ConvTranspose2d(4, 6, 3, 2, padding=1, output_padding=1, groups=2), (2, 4, 5, 6)),
            ("conv_transpose2d_cut", nn.ConvTranspose2d(4, 3, 2, stride=3, padding=2, dilation=2), (2, 4, 5, 6))):
        yield name, module, (normal(*shape),)
    for name, module, shape in (
            ("batch_norm", nn.BatchNorm2d(4), (2, 4, 5, 5)), ("layer_norm", nn.LayerNorm(4), (2, 3, 4)),
            ("group_norm", nn.GroupNorm(2, 4), (2, 4, 5)), ("rms_norm", nn.RMSNorm(4), (2, 3, 4)),
            ("instance_norm", nn.InstanceNorm2d(4, affine=True), (2, 4, 5, 5))):
        for tensor in list(module.parameters()) + list(module.buffers()):
            if tensor.is_floating_point():
                tensor.data.uniform_(0.5, 1.5)
        yield name, module, (normal(*shape),)
    yield "pools", lambda a: [
        F.max_pool2d(a, 3, 2, 1), F.max_pool2d(a, 2, ceil_mode=True), F.max_pool2d(a, 3, 1, dilation=2),
        F.avg_pool2d(a, 3, 2, 1), F.avg_pool2d(a, 3, 2, 1, count_include_pad=False),
        F.avg_pool2d(a, 3, 2, 1, ceil_mode=True), F.avg_pool2d(a, 2, divisor_override=3), F.max_pool1d(a[0], 3),
        F.adaptive_avg_pool2d(a, 1), F.adaptive_avg_pool2d(a, (3, 4)), F.adaptive_avg_pool1d(a[0], 4),
        F.adaptive_max_pool2d(a, (3, 4))], (image,)
    yield "pools_even", lambda a: [
        F.adaptive_avg_pool2d(a, (2, 7)), F.adaptive_max_pool2d(a, (2, 7)), F.adaptive_avg_pool2d(a, (4, 7)),
        F.adaptive_avg_pool1d(a[0], 19), F.adaptive_avg_pool2d(a, (9, 57)), F.adaptive_avg_pool2d(a, (18, 3))], (
            normal(2, 3, 9, 57),)
    yield "pools_dynamic", lambda a: [F.adaptive_avg_pool2d(a, (3, 4)), F.max_pool2d(a, 3, 2, 1)], (image,), (
        {2: AUTO, 3: AUTO},)
    yield "pads", lambda a: [
        F.pad(a, (1, 2, 3, 0), value=2.0), F.pad(a, (-1, 2)), F.pad(a, (2, 1, 1, 2), mode="reflect"),
        F.pad(a, (2, 1, 1, 2), mode="replicate"), F.pad(a, (2, 1, 1, 2), mode="circular")], (image,)

    yield "indexing", lambda a, n, m, w: [
        a[n], a[:, n], a[n, :, m], a[:, n, m], a[n[:, None], m], a[-1, n], F.embedding(m, w), w.index_select(0, m)], (
            normal(3, 4, 5), torch.tensor([0, 2, -1]), torch.tensor([1, 0, 3]), normal(5, 4))
    yield "masks", lambda a, m, d: [a[m], m.nonzero(), a.masked_scatter(m, d),
        a.masked_scatter(m, d.flatten()[1:])], (x, b, y)
    yield "gather_scatter", lambda a, n, s: [
        a.gather(1, n), a.gather(0, n[:, :2].clamp(max=2)), torch.take_along_dim(a, n, 1), a.scatter(1, n, s),
        a.scatter(1, n, 2.5), a.scatter_add(1, n, s), a.scatter_reduce(1, n, s, "amax"), a.index_copy(0, n[0, :3] % 3, s),
        a.index_add(1, n[0], s, alpha=2), a.index_fill(1, n[0, :2], 3.0), F.one_hot(n, 6)], (
            x, torch.tensor([[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]]), y)

    def writes(a, n, m):
        a = a.clone()
        a[:, 1] = 5
        a[n, 0] = 7.0
        a[m] = 0
        a[1:, 2:] += 1
        a[0] = a[1]
        view = a.view(-1)
        view[5:7].mul_(4)
        first, second = a.split(2, 1)
        second.neg_()
        a.diagonal().fill_(9)
        return a, view, first, a.t()

    yield "writes", writes, (x, torch.tensor([0, 2, 1]), b)
    yield "numbers", lambda a: [
        a.view(a.shape[0] * 2, -1), a * a.shape[0], a.sum() / a.shape[0], torch.full((a.shape[0] // 2,), a.shape[1])], (
            normal(4, 6),), ({0: AUTO, 1: AUTO},)
    yield "branch", lambda a: torch.cond(a.sum() > 0, lambda a: a.sin(), lambda a: a.cos() + 1, (a,)), (-p,)
    yield "loop", lambda n, a: torch._higher_order_ops.while_loop(
        lambda n, a: n < 5, lambda n, a: (n + 1, a * 2), (n, a)), (torch.tensor(0), x)

    yield "losses", lambda a, d, u, v: [
        F.mse_loss(a, d), F.mse_loss(a, d, reduction="none"), F.l1_loss(a, d, reduction="sum"), F.smooth_l1_loss(a, d),
        F.smooth_l1_loss(a, d, beta=0.3), F.huber_loss(a, d, delta=0.7), F.binary_cross_entropy(u, v),
        F.binary_cross_entropy_with_logits(a, v, weight=u, pos_weight=v[0]), F.kl_div(a, u, reduction="batchmean"),
        F.kl_div(a, d, log_target=True), F.soft_margin_loss(a, d.sign()), F.hinge_embedding_loss(a, d.sign()),
        F.margin_ranking_loss(a, d, u.sign(), 0.2), F.poisson_nll_loss(a, v * 5, full=True),
        F.cosine_embedding_loss(a, d, u[:, 0].sign()), F.triplet_margin_loss(a, d, u, swap=True)], (x, y, u, p / 2)
    classes = torch.tensor([[0, 3, 1, 2], [2, -100, 0, 1]])
    yield "losses_of_classes", lambda a, k, w, q: [
        F.cross_entropy(a, k), F.cross_entropy(a, k, w, reduction="sum"), F.cross_entropy(a, k, reduction="none"),
        F.cross_entropy(a, k, w, label_smoothing=0.1), F.cross_entropy(a, q), F.cross_entropy(a[0].t(), k[0]),
        F.nll_loss(F.log_softmax(a, 1), k.abs() % 4, w, ignore_index=2), F.cross_entropy(a[0, :, 0], k[0, 1]),
        F.multi_margin_loss(a[0].t(), k[0], weight=w)], (
            normal(2, 4, 4), classes, uniform(4), torch.softmax(normal(2, 4, 4), 1))
    yield "lstm", nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), (normal(2, 5, 3),)
    yield "gru", nn.GRU(3, 4, bidirectional=True), (normal(5, 2, 3),), ({0: AUTO, 1: AUTO},)
    yield "rnn", nn.RNN(3, 4, nonlinearity="relu", bias=False), (normal(5, 2, 3),)
    yield "fourier", lambda a, d: [torch.view_as_real(z.resolve_conj()) for z in (
        torch.fft.fft(a), torch.fft.ifft(torch.complex(a, d), norm="ortho"), torch.fft.rfft(a, 6),
        torch.fft.rfft2(a),
        torch.fft.ihfft(a, norm="forward"), torch.fft.fftn(a), torch.fft.fft(a, 3, 1))] + [
            torch.fft.irfft(torch.complex(a, d), 7), torch.fft.irfft2(torch.complex(a, d)),
            torch.fft.hfft(torch.complex(a, d)), torch.fft.fftshift(a), torch.fft.ifftshift(a, 1)], (t, normal(2, 3, 4))
    yield "algebra", lambda a, d, s: [
        torch.einsum("ij,kj->ik", a, d), torch.einsum("bij,kj,i->bk", s, a, d[:, 0]), torch.tensordot(s, a, ([2], [1])),
        torch.kron(a[:2], d[:2, :3]), torch.vdot(a[0], d[0]), torch.linalg.vecdot(a, d), torch.chain_matmul(a, d.t(), a),
        torch.linalg.matrix_power(a @ d.t(), 3), torch.linalg.cross(a[:, :3], d[:, 1:]), torch.trace(a),
        torch.linalg.norm(s), torch.linalg.norm(a, "fro"), torch.linalg.norm(a, 1), torch.linalg.matrix_norm(s, inf),
        torch.linalg.norm(a, 3, dim=1), F.pairwise_distance(a, d), F.cosine_similarity(s, d, -1), torch.cdist(a, d),
        torch.cdist(s, d, 1.0), F.pdist(a), torch.renorm(a, 2, 0, 1.0)], (x, y, t)
    yield "windows", lambda a, g, c, th: [
        F.unfold(a, 3, 2, 1, 2), F.fold(c, (4, 5), 2, stride=1), F.grid_sample(a, g, align_corners=False),
        F.grid_sample(a, g, "nearest", "border", True), F.grid_sample(a, g, "bicubic", "reflection", False),
        F.affine_grid(th, (2, 1, 3, 4), align_corners=False), F.max_unpool2d(*F.max_pool2d(a[..., :6, :8], 2, return_indices=True), 2),
        a.as_strided((3, 2), (5, 2), 1)], (image, uniform(2, 3, 5, 2) * 2.4 - 1.2, normal(2, 8, 12), normal(2, 2, 3))
    yield "scatter_reductions", lambda a, n, s, bag, at: [
        a.scatter_reduce(1, n, s, "mean"), a.scatter_reduce(1, n, s, "sum", include_self=False),
        a.scatter_reduce(1, n, s, "amin", include_self=False), a.scatter_reduce(0, n % 3, s, "prod"),
        a.index_reduce(0, n[0, :3] % 3, s, "mean"), a.put(n, s, accumulate=True), F.embedding_bag(bag, s, at),
        F.embedding_bag(bag, s, at, mode="sum", padding_idx=1), F.embedding_bag(bag, s, at, mode="max")], (
            x, torch.tensor([[0, 1, 2, 3], [3, 3, 1, 1], [1, 0, 1, 2]]), y, torch.tensor([1, 0, 2, 2, 1]),
            torch.tensor([0, 2, 2]))
    yield "statistics", lambda a, s, n: [
        torch.quantile(a, 0.3), torch.quantile(s, torch.tensor([0.1, 0.5, 0.75]), 1, keepdim=True),
        torch.nanquantile(a, 0.4, 1, interpolation="higher"), torch.nanmedian(s, 1), torch.histc(a, 5, -1, 1),
        torch.isin(n, torch.tensor([1, 3])), torch.diff(a), torch.diff(s, 2, 1), torch.trapezoid(a, dx=0.5),
        torch.trapezoid(a, s[0], dim=1), torch.cumulative_trapezoid(a)], (x, t, i)
    yield "assorted", lambda a, d, s, n: [
        torch.block_diag(a, d, s[0, 0]), torch.cartesian_prod(a[0], d[1]), torch.column_stack([a, d[:, 0]]),
        torch.repeat_interleave(a, n, 0), torch.diagflat(a[0], 1), torch.angle(a), torch.special.entr(d.abs()),
        torch.special.ndtr(a), torch.special.i0e(a), torch.atleast_3d(a, s), a.sum_to_size(1, 4), torch.conj(a),
        torch.logit(d.sigmoid(), 0.1), torch.addbmm(a[:, :3] * inf, s[:, :, :2], s[:, :2, :3], beta=0),
        F.pad(s, (-1, 1), mode="circular")], (x, y, t, torch.tensor([2, 0, 3]))

    aten = torch.ops.aten
    square = normal(2, 5, 5) + 4 * torch.eye(5)
    positive = square @ square.mT
    yield "linear_systems", lambda m, s, v, small: [
        torch.linalg.solve(m, v), torch.linalg.solve(m, v.mT, left=False), torch.linalg.solve(m[0], v[0, :, 0]),
        torch.linalg.inv(m), torch.linalg.inv(small), torch.linalg.det(m), torch.linalg.det(small), *torch.slogdet(m),
        torch.logdet(s), torch.linalg.cholesky(s), torch.linalg.cholesky(s, upper=True),
        torch.cholesky_solve(v, torch.linalg.cholesky(s)), torch.cholesky_inverse(torch.linalg.cholesky(s)),
        torch.linalg.solve_triangular(m, v, upper=False), torch.linalg.solve_triangular(m, v, upper=True),
        torch.linalg.solve_triangular(m, v.mT, upper=True, left=False, unitriangular=True),
        *torch.linalg.lu_factor(m), *torch.linalg.lu(m[:, :, :3]), *torch.linalg.lu(m[:, :2]),
        torch.linalg.lu_solve(*torch.linalg.lu_factor(m), v, adjoint=True), *torch.linalg.inv_ex(m),
        torch.linalg.tensorinv(m[0, :4, :4].reshape(4, 2, 2), 1), torch.linalg.tensorsolve(m[0, :4, :4].reshape(2, 2, 4), v[0, :4, 0].reshape(2, 2))], (
            square, positive, normal(2, 5, 3), normal(3, 2, 2))
    yield "linear_systems_dynamic", lambda m, v: [torch.linalg.solve(m, v), torch.linalg.det(m)], (
        square, normal(2, 5, 3)), ({0: AUTO, 1: AUTO, 2: AUTO}, {0: AUTO, 1: AUTO})
    yield "spectra", lambda m, s, w: [
        torch.linalg.eigvalsh(s), (lambda e: e[1] * e[0][:, None] @ e[1].mT)(torch.linalg.eigh(s)),
        torch.linalg.svdvals(w), (lambda e: e[0] * e[1][:, None] @ e[2])(torch.linalg.svd(w, full_matrices=False)),
        (lambda e: e[0].mT @ e[0])(torch.linalg.svd(w)), *torch.linalg.qr(w), *torch.linalg.qr(w.mT, "complete"),
        torch.linalg.pinv(w), torch.linalg.matrix_rank(w.mT @ w), torch.linalg.cond(m), torch.matrix_exp(m / 3),
        torch.linalg.matrix_norm(w, 2), torch.linalg.matrix_norm(w, "nuc"), torch.linalg.matrix_norm(w, -2),
        torch.linalg.vander(w[0, 0], N=3)], (square, positive, normal(2, 6, 4))
    yield "fourier_windows", lambda a, w: [torch.view_as_real(z) for z in (
        torch.stft(a, 8, 2, window=w, return_complex=True), torch.stft(a, 6, win_length=4, return_complex=True),
        torch.stft(a[0], 8, 4, window=w, center=False, onesided=False, normalized=True, return_complex=True))] + [
            torch.hann_window(6), torch.hamming_window(5, periodic=False), torch.blackman_window(7)], (
                normal(2, 20), uniform(8))
    yield "gradients", lambda g, a, y: [
        aten.threshold_backward(g, a, 0.1), aten.hardtanh_backward(g, a, -0.5, 0.5), aten.sigmoid_backward(g, y),
        aten.tanh_backward(g, y), aten.gelu_backward(g, a), aten.gelu_backward(g, a, approximate="tanh"),
        aten.silu_backward(g, a), aten.mish_backward(g, a), aten.hardswish_backward(g, a * 3),
        aten.hardsigmoid_backward(g, a * 3), aten.leaky_relu_backward(g, a, 0.2, False),
        aten.elu_backward(g, 1.5, 2.0, 0.5, False, a), aten.elu_backward(g, 1.5, 2.0, 0.5, True, a),
        aten.softplus_backward(g, a, 2.0, 1.0), aten.log_sigmoid_backward(g, a, torch.exp(-a.abs())), aten.softshrink_backward(g, a, 0.3),
        aten.glu_backward(g[:, :2], a, 1), aten.native_dropout_backward(g, y > 0.5, 2.0),
        aten._softmax_backward_data(g, y, 1, torch.float32), aten._log_softmax_backward_data(g, y.log(), 0, torch.float32),
        aten._prelu_kernel_backward(g, a, y[0]), aten.mse_loss_backward(g, a, y, 0), aten.mse_loss_backward(g[0, 0], a, y, 1),
        aten.smooth_l1_loss_backward(g[0, 0], a, y, 1, 0.5), aten.huber_loss_backward(g, a, y, 0, 0.5),
        aten.soft_margin_loss_backward(g[0, 0], a, y.round(), 2), aten.binary_cross_entropy_backward(g[0, 0], y, y.flip(0))], (
            x, y, u)
    yield "gradients_of_classes", lambda g, a, k, w, s: [
        aten.nll_loss_backward(g[0], a[:, :, 0], k[:, 0], w, 1, -100, s), aten.nll_loss_backward(g, a[:, :, 0], k[:, 0], None, 0, 2, s),
        aten.nll_loss2d_backward(g[0], a[..., None], k[..., None], w, 1, -100, s),
        aten.embedding_dense_backward(a, k[:, :4], 5, 1, False), aten.embedding_dense_backward(a, k[:, :4], 5, -1, True)], (
            normal(2), normal(2, 4, 4), torch.tensor([[0, 3, 1, 2], [2, 3, 0, 1]]), uniform(4), torch.tensor(2.5))

    def norms(g, a, w, r):
        y, mean, inverse = aten.native_layer_norm(a, [4], w, w, 1e-5)
        z, means, inverses = aten.native_group_norm(a, w[:3], None, 2, 3, 4, 3, 1e-5)
        return [aten.native_layer_norm_backward(g, a, [4], mean, inverse, w, w, [True, True, True]),
                aten.native_group_norm_backward(g, a, means, inverses, w[:3], 2, 3, 4, 3, [True, True, True]),
                aten.native_batch_norm_backward(g, a, w[:3], None, None, r[0], r[1], True, 1e-5, [True, True, True]),
                aten.native_batch_norm_backward(g, a, None, r[0], r[1], None, None, False, 1e-5, [True, True, True])]

    yield "gradients_of_norms", norms, (normal(2, 3, 4), t, uniform(4), uniform(2, 3))
    every = [True, True, True]
    yield "gradients_of_convolutions", lambda g, a, w, h, v, o: [
        *aten.convolution_backward(g, a, w, [6], [2, 1], [1, 0], [1, 2], False, [0, 0], 2, every),
        *aten.convolution_backward(h, v, o, [4], [2, 2], [1, 1], [1, 1], True, [1, 1], 1, every)], (
            normal(2, 6, 4, 7), normal(2, 4, 7, 9), normal(6, 2, 3, 2), normal(2, 4, 10, 10), normal(2, 3, 5, 5),
            normal(3, 4, 3, 3))
    yield "gradients_of_convolutions_dynamic", lambda g, a, w: [
        *aten.convolution_backward(g, a, w, [6], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, every)], (
            normal(2, 6, 7, 9), normal(2, 4, 7, 9), normal(6, 4, 3, 3)), ({0: AUTO, 2: AUTO}, {0: AUTO, 2: AUTO}, None)
    yield "gradients_of_windows", lambda g, a, r: [
        aten.max_pool2d_with_indices_backward(g, a, [3, 3], [2, 2], [1, 1], [1, 1], False,
                                              aten.max_pool2d_with_indices(a, [3, 3], [2, 2], [1, 1])[1]),
        aten.avg_pool2d_backward(g, a, [3, 3], [2, 2], [1, 1], False, True, None),
        aten.avg_pool2d_backward(g, a, [3, 3], [2, 2], [1, 1], True, False, None),
        aten._adaptive_avg_pool2d_backward(g, a), aten.select_backward(g, [2, 4, 4, 3, 5], 3, -1),
        aten.slice_backward(g, [2, 4, 9, 5], 2, 1, 9, 2), aten.upsample_nearest2d_backward(r, [14, 18], [2, 4, 7, 9]),
        aten.upsample_bilinear2d_backward(r, [14, 18], [2, 4, 6, 5], False),
        aten.upsample_bicubic2d_backward(r, [14, 18], [2, 4, 6, 5], True)], (
            normal(2, 4, 4, 5), image, normal(2, 4, 14, 18))
    yield "special", lambda a, q, m: [
        torch.special.erfcx(a * 4), torch.special.log_ndtr(a * 6), torch.special.ndtri(q), torch.special.zeta(q * 3 + 1.1, q * 5),
        torch.polygamma(1, q * 4), torch.polygamma(3, q * 4), torch.mvlgamma(q * 4 + 2, 3), torch.ldexp(a, m),
        torch.special.spherical_bessel_j0(a), torch.special.i0e(a * 300), torch.special.i1e(a * 300)], (x, u, i)

    def attention(g, q, k, v):
        out, sums = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
        return [out, sums, *aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, out, sums, 0.0, True)]

    yield "gradients_of_attention", attention, tuple(normal(2, 2, 5, 8) for _ in range(4))
    yield "masked_indices", lambda a, m, n, v: [
        aten._unsafe_masked_index(a, m, [n, None], -1.5),
        aten._unsafe_masked_index_put_accumulate(a, m, [n, None], v)], (
            x, torch.tensor([[True], [False], [True], [True]]), torch.tensor([2, 7, 0, 2]), normal(4, 4))

    def scans(a, w):
        from torch._higher_order_ops.map import map as over
        from torch._higher_order_ops.scan import scan
        last, every = scan(lambda c, row: (c * 0.5 + row, (c + row).sin()), torch.zeros(4), a)
        return [last, every, over(lambda row, w: row @ w, a, w)]

    def combined(a, b):
        from torch._higher_order_ops.associative_scan import associative_scan as scan
        both = scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), dim=1, combine_mode="pointwise")
        return *both, scan(torch.maximum, a, dim=0, reverse=True, combine_mode="pointwise")

    yield "combined", combined, (x, y)
    yield "parts_by_tensors", lambda a, i: [
        *torch.tensor_split(a, torch.tensor([2, 5])), *torch.tensor_split(a, torch.tensor(3), 1),
        torch.conv_tbc(a[:, :, None], i, i[0, 0], 1)], (normal(7, 4), normal(3, 1, 2))
    yield "scans", scans, (x, normal(4, 2)), ({0: AUTO}, None)
    yield "lstm_projected", nn.LSTM(3, 5, 2, proj_size=2, bidirectional=True), (normal(4, 2, 3),), ({0: AUTO, 1: AUTO},)

    import torchvision
    corners = uniform(10, 4) * 4
    boxes = torch.cat([corners[:, :2], corners[:, :2] + corners[:, 2:]], 1)
    yield "detection", lambda rect, scores, a: [
        torchvision.ops.nms(rect, scores, 0.4), torchvision.ops.roi_align(a, [rect[:4], rect[4:]], (3, 2), 0.5, 2, aligned=True),
        torchvision.ops.roi_align(a, [rect[:4], rect[4:]], 2, 1.5, 1), torchvision.ops.roi_pool(a, [rect[:4], rect[4:]], (3, 2), 0.5)], (boxes, uniform(10), image)
    yield "deformable", torchvision.ops.DeformConv2d(4, 6, 3, padding=1, groups=2), (
        image, normal(2, 18, 7, 9), uniform(2, 9, 7, 9))
    yield "counts", lambda n, w: [torch.bincount(n), torch.bincount(n, w), torch.bincount(n, minlength=9)], (
        torch.tensor([3, 1, 3, 0, 5, 3]), uniform(6))
    yield "average_of_all", lambda a: F.avg_pool2d(a, a.shape[2:]), (image,), ({2: AUTO, 3: AUTO},)
    yield "antialiased", lambda a: [
        F.interpolate(a, (4, 5), mode="bilinear", antialias=True), F.interpolate(a, (3, 12), mode="bicubic", antialias=True),
        F.interpolate(a, scale_factor=0.6, mode="bilinear", antialias=True)], (image,)
    yield "weight_norms", lambda v, g: [torch._weight_norm(v, g, 0), torch._weight_norm(v, g[:2].reshape(1, 1, 2), 2),
                                        torch.norm_except_dim(v, 2, 1)], (normal(4, 3, 2), uniform(4, 1, 1))
    for more in (written, rounded, complexes, edges):
        yield from more(normal)
    yield from quantized(normal, integers)
    yield from specials(normal, uniform)
    yield from scalars()
    yield from computed(normal)
    yield from lists(normal)
    yield from blocks(normal, uniform)
    yield from tangents(normal)
    yield from slopes(normal, uniform)
    numbers = integers(0, 4, 3, 5)
    yield "distinct", lambda n, m: [
        *torch.unique(n, return_inverse=True, return_counts=True), *torch.unique_consecutive(
            n, return_inverse=True, return_counts=True), *torch.unique(m, dim=0, return_inverse=True, return_counts=True),
        torch.unique_consecutive(m, dim=1)], (numbers, torch.tensor([[2, 2, 1], [0, 0, 5], [2, 2, 1], [0, 0, 4]]))
    yield "modes", lambda n, a: [*torch.mode(n), *torch.mode(n, 0, keepdim=True), *torch.mode(a.round(), 1), *a[0, 0].mode()], (
        numbers, normal(2, 6, 3))
    yield "positions", lambda n: [torch.nonzero_static(n, size=4), torch.nonzero_static(n, size=20, fill_value=7)], (numbers,)
    yield "experts", lambda a, w, n: torch.nn.functional.grouped_mm(a, w, offs=n), (
        normal(7, 8), normal(3, 8, 16), torch.tensor([2, 2, 7], dtype=torch.int32))
    yield "reflections", lambda a, t: torch.linalg.householder_product(a, t), (normal(2, 5, 3), normal(2, 3))

    sdpa = F.scaled_dot_product_attention
    seen = integers(0, 2, 66, 70) > 0
    seen[5] = False
    yield "attention_of_many", lambda q, k, w, m: [
        sdpa(q, k, w), sdpa(q, k, w, is_causal=True, scale=0.3), sdpa(q, k, w, m), sdpa(q, k, w, m.float()),
        sdpa(q, k[:, :2], w[:, :2], is_causal=True, enable_gqa=True)], (
            normal(1, 4, 66, 8), normal(1, 4, 70, 8), normal(1, 4, 70, 8), seen)
    yield "attention_of_any_length", lambda q, k, w: [
        sdpa(q, k, w), sdpa(q, k, w, is_causal=True), sdpa(q, k[:, :1], w[:, :1], enable_gqa=True)], (
            normal(2, 2, 33, 8), normal(2, 2, 65, 8), normal(2, 2, 65, 8)), ({2: AUTO}, {2: AUTO}, {2: AUTO})
    yield "distances", lambda a, d: [torch.cdist(a, d), torch.cdist(
        a, d, compute_mode="donot_use_mm_for_euclid_dist")], (normal(30, 5), normal(3, 5))


def rounded(normal):
    """Ranges, counts and quotients that are rounded."""
    yield "ranges", lambda a, n: [
        torch.arange(0.5, 5.5, 1.9, dtype=torch.int64), torch.arange(1.9, -5.2, -1.1, dtype=torch.int32),
        torch.arange(0, 5, 0.7, dtype=torch.int64), torch.arange(0.5, 5.5, 1.9),
        torch.linspace(-4.9, 3.9, 10, dtype=torch.int64), torch.linspace(0.5, 7.5, 5, dtype=torch.int32),
        torch.linspace(a, n, 7), torch.linspace(a, 3, 4), torch.logspace(a, n, 5), torch.logspace(0, 3, 4, base=2),
        torch.tril_indices(3, 4, 1), torch.triu_indices(4, 3, -1), torch.triu_indices(2, 3, 5),
        torch.tril_indices(0, 3)], (torch.tensor(0.5), torch.tensor(3))
    yield "counted_bools", lambda b: [torch.ops.aten.sum_to_size(b, [1, 4]), b.sum_to_size(4), b.sum_to_size(3, 1)], (
        normal(3, 4) > 0,)
    quotients = torch.tensor([1.0, 0.3, -1.0, 6.0, -7.5, float("inf"), float("nan"), 0.0, -0.0, 3e38, 5.0])
    divisors = torch.tensor([0.1, 0.1, 0.1, -0.2, 2.5, 3.0, 1.0, -3.0, 2.0, 1e-30, 0.0])
    yield "floor_quotients", lambda a, d, h, k: [
        a // d, a // 0.1, a // 4, 1.0 // d, torch.div(a, d, rounding_mode="floor"), h // k,
        torch.div(h, 0.3, rounding_mode="floor")], (
            quotients, divisors, quotients[:5].bfloat16(), divisors[:5].bfloat16())
    # torch rounds each step to the type, and a number that is divided, but nothing where it divides by a number
    yield "narrow_quotients", lambda a, b, c, d: [
        *(torch.div(x, y, rounding_mode=mode) for x, y in ((a, b), (c, d), (a, 0.3), (c, -1.1)) for mode in ("floor", "trunc")),
        *(5.7 // x for x in (a, b, c, d)), torch.floor_divide(5.7, c[0])], (
            *((10 * normal(40)).bfloat16() for _ in range(2)), *((10 * normal(40)).half() for _ in range(2)))


def edges(normal):
    """Operators whose rules differ from one shape to another: regions that overlap, borders, tensors without axes."""
    yield "adaptive_maxima", lambda a, v: [
        *F.adaptive_max_pool2d(a, (3, 4), return_indices=True), *F.adaptive_max_pool2d(a, 1, return_indices=True),
        *F.adaptive_max_pool1d(v, 3, return_indices=True)], (normal(2, 3, 7, 9).round(), normal(2, 8))
    yield "differences", lambda x, p, q: [
        *torch.gradient(x), *torch.gradient(x, spacing=0.5, edge_order=2), *torch.gradient(x, dim=1, spacing=3.0),
        *torch.gradient(x, spacing=[2.0, 0.25], dim=[0, 1]), *torch.gradient(x, spacing=(p, q)),
        *torch.gradient(x, spacing=(q,), dim=1, edge_order=2), *torch.gradient(x[:2], dim=0),
        *torch.gradient(x, spacing=(p, q), edge_order=2, dim=(0, 1))], (
            normal(4, 6), torch.tensor([0.0, 1.0, 1.5, 4.0]), torch.tensor([-1.0, 0.0, 2.0, 3.0, 3.5, 9.0]))
    yield "divisors", lambda a, b, c: [
        torch.gcd(a, b), torch.lcm(a, b), torch.gcd(a, c), torch.lcm(a, c), torch.lcm(a.to(torch.int8), b.to(torch.int8)),
        torch.combinations(c), torch.combinations(c, 3),
        torch.combinations(c, 2, with_replacement=True)], (
            torch.tensor([[12, -18, 0, 35, 1], [0, 7, 48, -100, 36]]), torch.tensor([[18, 12, 5, 0, 9], [0, -21, 36, 75, 48]]),
            torch.tensor([6, 4, 9, -10, 15]))
    yield "rank_0", lambda a, i, e, n: [
        a.gather(0, i), a.gather(0, e), a.scatter(0, i, 2.0), a.scatter(0, i, a + 1), a.scatter_add(0, i, a),
        a.scatter_reduce(0, i, a, "amax"), a.index_select(0, i), a.index_select(0, e), a.index_add(0, i, a),
        a.index_copy(0, e, a + 1), a.index_fill(0, i, 3.0), a.take(i), *a.topk(1),
        *a.kthvalue(1), *a.cummax(0), *a.cummin(0), *a.median(0), *a.mode(0), *a.sort(0), a.cumsum(0), a.nonzero(),
        a.unfold(0, 1, 1), a.squeeze(), a.squeeze(0), n.argsort(), torch.softmax(a, 0), torch.log_softmax(a, 0),
        torch.argwhere(a), torch.unsqueeze(a, 0), *a.max(0), torch.unique_consecutive(n)], (
            torch.tensor(2.5), torch.tensor(0), torch.tensor([0]), torch.tensor(4))
    # torch checks the offset of such a slice in its storage.
    yield "slices_by_value", lambda x, n: x[4 - n.item():4 + n.item()] * 2, (normal(8, 3), torch.tensor(2))


def quantized(normal, integers):
    import torch.ao.quantization.fx._decomposed  # noqa: F401  defines them
    ops = torch.ops.quantized_decomposed

    def run(a, w, s, z):
        scale, zero = ops.choose_qparams.tensor(a, -128, 127, 1e-6, torch.int8)
        q = ops.quantize_per_tensor.tensor(a, scale, zero, -128, 127, torch.int8)
        p = ops.quantize_per_tensor.default(a, 0.02, 7, 0, 255, torch.uint8)
        c = ops.quantize_per_channel.default(w, s, z, 0, -127, 127, torch.int8)
        t = ops.quantize_per_token.default(a, s[:3, None], z[:3, None], -128, 127, torch.int8)
        return [q, p, c, t, ops.dequantize_per_tensor.default(p, 0.02, 7, 0, 255, torch.uint8),
                ops.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, torch.int8),
                ops.dequantize_per_channel.default(c, s, z, 0, -127, 127, torch.int8),
                torch.fake_quantize_per_tensor_affine(a, 0.1, 3, 0, 15),
                torch.fake_quantize_per_channel_affine(w, s, z.int(), 0, -8, 7),
                torch._int_mm(torch.cat([q] * 6), c.t())]

    yield "quantized", run, (normal(3, 8), normal(8, 8), torch.rand(8) / 20 + 0.01, integers(-3, 3, 8))
