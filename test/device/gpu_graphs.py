"""Models that are captured in CUDA graphs, on this machine's GPU, against PyTorch.

A run that is captured leaves nothing behind that other runs wait for, and its graph is right as long as the context is
there: runs in other streams, of other sizes, and so many that the context gives up memory come between replays.
"""
import pathlib
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
from compiled import compile_model  # noqa: E402  (adds the Python loader's folder)
import tcc_torch  # noqa: E402


class Tokens(torch.nn.Module):
    """Of open length, with a check of its indices."""

    def __init__(self):
        super().__init__()
        self.embedding, self.linear = torch.nn.Embedding(1000, 64), torch.nn.Linear(64, 64)

    def forward(self, tokens):
        return torch.softmax(self.linear(self.embedding(tokens)), -1).sum(0)


class Order(torch.nn.Module):
    """With scratch memory."""

    def forward(self, x, places):
        return torch.gather(x, 1, places), x.sort(dim=1)[0]


def opened(folder, module, inputs, **options):
    torch.export.save(torch.export.export(module, inputs, **options), folder / "model.pt2")
    major, minor = torch.cuda.get_device_capability()
    path = folder / f"{type(module).__name__}.so"
    compile_model(folder / "model.pt2", path, "--arch", f"sm_{major}{minor}" + ("a" if major >= 9 else ""))
    return path


def captured(run, calls=1):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            results = run()
    return graph, results


def check_tokens(folder):
    module = Tokens().eval()
    rows = torch.export.Dim("rows", min=2, max=5000)
    path = opened(folder, module, (torch.zeros(77, dtype=torch.int64),), dynamic_shapes=({0: rows},))
    model, module = tcc_torch.Model(path), module.cuda()
    tokens = {n: torch.randint(0, 1000, (n,), device="cuda") for n in (2, 77, 500, 5000)}

    def same(result, n):
        with torch.no_grad():
            torch.testing.assert_close(result, module(tokens[n]), rtol=1e-4, atol=1e-4)
    # More calls than checks that may wait to be read, the first ones of the model.
    graphs = {n: captured(lambda n=n: model(tokens[n])[0], 100) for n in (77, 500)}
    model.synchronize()
    for n in (5000, 2, 77):
        same(model(tokens[n])[0], n)
    other = torch.cuda.Stream()
    for _ in range(5):
        for n, (graph, result) in graphs.items():
            tokens[n].random_(0, 1000)
            result.zero_()
            graph.replay()
            same(result, n)
            other.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(other):
                result = model(tokens[5000])[0]
            torch.cuda.current_stream().wait_stream(other)
            same(result, 5000)
        for _ in range(40):
            model(tokens[2])
    model.synchronize()


def check_order(folder):
    x, places = torch.randn(64, 20000, device="cuda"), torch.randint(0, 20000, (64, 100), device="cuda")
    model = tcc_torch.Model(opened(folder, Order(), (x.cpu(), places.cpu())))
    graph, results = captured(lambda: model(x, places))
    for _ in range(3):
        x.normal_()
        expected = Order()(x, places)
        graph.replay()
        for some in (results, model(x, places)):
            assert all(torch.equal(a, b) for a, b in zip(some, expected, strict=True))
        model.synchronize()
    wrong = places.clone()
    wrong[0, 0] = 30000
    model(x, wrong)
    try:
        model.synchronize()
    except tcc_torch.tcc.Error as error:
        assert "out of range" in str(error), error
    else:
        raise AssertionError("an index out of range was not found")


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_tokens, check_order):
            check(pathlib.Path(folder))
            print(check.__name__.removeprefix("check_") + ": right in graphs and beside them")


if __name__ == "__main__":
    main()
