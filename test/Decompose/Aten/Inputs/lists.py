"""Those programs of cases.py that call operators on lists of tensors, as PyTorch's optimizers do."""
import torch

UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal "
         "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc")


def operator(name):
    return getattr(torch, "_foreach_" + name, None) or getattr(torch.ops.aten, "_foreach_" + name)


def lists(normal):
    def unary(a, b):
        results = [operator(name)([a, b]) for name in UNARY.split() + ["clone", "max"]]
        for name in UNARY.split()[:4] + ["zero"]:
            written = [a + 0, b + 0]
            operator(name + "_")(written)
            results.append(written)
        return results

    def binary(a, b, c, d, one):
        x, y, results = [a, b], [c, d], []
        for name in "add sub mul div clamp_max clamp_min maximum minimum pow".split():
            results += [operator(name)(x, other) for other in (y, 2, [1.5, 2.0])]
            written = [a + 0, b + 0]
            operator(name + "_")(written, [1, 2])
            results.append(written)
        results += [operator(name)(x, one) for name in "add mul div".split()]
        results += [operator(name)(x, y, alpha=0.3) for name in "add sub".split()]
        return results + [torch._foreach_add(x, one, alpha=2.5), torch._foreach_pow(2.0, x)]

    def further(a, b, c, d, two, one):
        """With numbers that a run computes, lists that the operator writes and reads, norms."""
        x, y, results = [a, b], [c, d], []
        for name in "addcmul addcdiv".split():
            for value in (0.5, 3, [1.0, 2.0], torch.tensor([2.0, 0.5])):
                written = [a + 0, b + 0]
                operator(name + "_")(written, y, x, value)
                results += [operator(name)(x, y, x, value), written]
        for weight in (0.3, x, [0.1, 0.9], one.item()):
            results.append(torch._foreach_lerp(x, y, weight))
        for order in (2, 1, float("inf"), 0.5):
            results.append(torch._foreach_norm(x, order))
        results += [torch._foreach_norm(x, 2, dtype=torch.float64), torch.ops.aten._foreach_powsum(x, 3)]
        square = [two + 0, two.t() + 1]
        torch._foreach_add_(square, [square[1], square[0]])
        torch._foreach_mul_([square[0].t()[1], square[1]], 2.0)
        torch._foreach_copy_([square[1][0]], [square[0][:, 0]])
        return results, square, torch.ops.aten._foreach_mm(square, square[::-1])

    def steps(a, b, c, d, rate, scale, found):
        """Whole steps of optimizers; with a scale the gradients are written, and what is found leaves the rest."""
        results = []
        given = lambda: ([a + 0, b + 0], [c + 0, d + 0])
        likewise = lambda by=1.0: [a * a * by, b * b * by]
        counts = [torch.tensor(3.0), torch.tensor(4.0)]
        numbers = dict(lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.2, eps=1e-6)
        for name, largest, more in (("adam", False, {}), ("adamw", True, {"maximize": True}), ("adam", True, {"lr": rate, "grad_scale": scale}),
                                    ("adamw", False, {"grad_scale": scale, "found_inf": found})):
            lists = [*given(), likewise(0.1), likewise(), likewise(1.1) if largest else []]
            options = numbers | {"amsgrad": largest, "maximize": False} | more
            getattr(torch, f"_fused_{name}_")(*lists, counts, **options)
            results.append(lists)
        results.append(torch.ops.aten._fused_adam(*given(), likewise(), likewise(), [], counts, amsgrad=False, maximize=False, **numbers))
        for first, nesterov, momentum in ((False, False, 0.9), (True, True, 0.9), (False, False, 0.0)):
            lists = [*given(), likewise() if momentum else []]
            torch._fused_sgd_(*lists, weight_decay=0.1, momentum=momentum, lr=0.3, dampening=0.0 if nesterov else 0.2, nesterov=nesterov,
                              maximize=not nesterov, is_first_step=first)
            results.append(lists)
        lists = [*given(), likewise()]
        torch._fused_adagrad_(*lists, counts, lr=0.1, lr_decay=0.3, weight_decay=0.1, eps=1e-6, maximize=False)
        return results + [lists]

    a, b, c, d = (normal(*shape).abs() * 0.4 + 0.1 for shape in ((3, 4), (5,), (3, 4), (5,)))
    yield "lists", unary, (a, b)
    yield "lists_and_others", binary, (a, b, c, d, torch.tensor(0.7))
    yield "lists_further", further, (a, b, c, d, normal(3, 3), torch.tensor(0.7))
    for found in (0.0, 1.0):
        yield f"steps_{'not_' if found else ''}taken", steps, (a, b, c - 0.3, d, torch.tensor(0.2), torch.tensor(8.0), torch.tensor(found))
    yield "lists_of_integers", lambda a, b: [
        torch._foreach_div([a, b], 2), torch._foreach_add([a, b], [a, b]), torch._foreach_mul([a, b], 2.5),
        torch._foreach_sqrt([a, b]), torch._foreach_maximum([a, b], 1)], (torch.arange(6), torch.arange(3) * 2)
