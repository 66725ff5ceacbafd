"""Cases of cases.py: numbers beside tensors of narrow types, and casts into those."""
import torch
import torch.nn.functional as F


def scalars():
    """(name, function, inputs): bounds that a type lacks, True as a number, factors that bf16 and f16 lack."""
    yield "scalar_bounds", lambda u, i: [
        f(v) for v in (u, i) for f in (
            lambda v: v.clamp(-3, 3), lambda v: v.clamp(min=-300), lambda v: v.clamp(max=70000),
            lambda v: v.clamp(-200, 300), lambda v: v.clamp(3, 2**40), lambda v: torch.clamp_min(v, -129),
            lambda v: torch.clamp_max(v, 256), lambda v: F.hardtanh(v, -2, 300))], (
                torch.tensor([0, 1, 255, 3, 7, 128], dtype=torch.uint8),
                torch.tensor([0, 1, -1, 127, -7, -128], dtype=torch.int8))
    yield "scalar_truths", lambda x: [
        x ** True, x ** False, torch.float_power(x, True), F.leaky_relu(x, True), F.hardtanh(x, -2, True), x * True], (
            torch.tensor([0.0, 1.0, -1.0, 3.0, -5.0, 0.5]),)
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(64, generator=generator)
    yield "scalar_factors", lambda x: [
        f(x.to(t)).float() for t in (torch.bfloat16, torch.float16) for f in (
            lambda v: v * 0.1, lambda v: v / 0.3, lambda v: 70000 * v, lambda v: v * x[0],
            lambda v: v / x[1].double(), lambda v: v * 0.5)], (x,)
    yield "casts_to_narrow_integers", lambda x: [
        f(x, t) for t in (torch.uint8, torch.int8, torch.int16) for f in (
            lambda x, t: x.to(t), lambda x, t: x.double().to(t), lambda x, t: x.bfloat16().to(t),
            lambda x, t: torch.zeros(6, dtype=t).copy_(x))], (torch.tensor([-1.0, -2.5, 300.0, -200.5, 65000.0, 7.0]),)
