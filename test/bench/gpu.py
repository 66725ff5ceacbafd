"""scripts/bench gpu: tcc beside PyTorch on one GPU, in one process, with tensors that lie there.

    scripts/bench gpu [--rows 'resnet50 b32,gpt2 s128 b1'] [--peers eager,compile,reduce-overhead,max-autotune]
                      [--json FILE] [--profile] [--write [FILE]]

Modules and inputs are those of gpu_rows.py, in bf16: tcc gets the f32 module and --precision bf16, PyTorch the module
converted. Each contestant's outputs are compared with the module in float64 (in f32 where it is too large) before it
is timed: the root of the mean square of tcc's error may be at most twice that of eager. `wall` is the median of single
calls with a wait after each, `device` that of events around many calls, divided by their number. Contestants take turns.
tcc compiles on two cores with an empty cache. From the start of tcc-run to its outputs on the host is timed as well, and
apart from it what the driver takes to come up in a process of its own.
--profile adds tcc's kernels by time. --write merges the rows into docs/performance.md: those just measured, or those
of FILE, which --json wrote on another machine.
"""
import argparse
import contextlib
import copy
import datetime
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "test/models"), str(SOURCE / "test/device")]
PEERS = ["eager", "compile", "reduce-overhead", "max-autotune"]
FIRST = ["resnet50 b32", "bert-base s128 b32", "vit_b_16 b32", "gpt2 s512 b8", "resnext101_32x8d b32", "convnext_tiny b32",
         "llama-1b decode", "resnet50 b1", "bert-base s128 b1", "gpt2 s128 b1", "vit_b_16 b1", "mobilenet_v3_large b1",
         "efficientnet_b0 b1"]


def events_ms(torch, run, seconds):
    """Milliseconds on the device of one call: events around so many that the queue never empties."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def batch(count):
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / count

    count = max(5, min(200, int(50 / max(batch(3), 1e-3))))
    samples, start = [], time.perf_counter()
    while len(samples) < 3 or time.perf_counter() - start < seconds:
        samples.append(batch(count))
    return statistics.median(samples)


def walls_ms(torch, run, seconds):
    samples, start = [], time.perf_counter()
    while len(samples) < 10 or time.perf_counter() - start < seconds:
        begin = time.perf_counter_ns()
        run()
        torch.cuda.synchronize()
        samples.append((time.perf_counter_ns() - begin) / 1e6)
    return statistics.median(samples)


def tensors(result):
    """The tensors of floats of whatever holds them: tuples, dicts, tcc's Results."""
    if hasattr(result, "is_floating_point"):
        return [result] if result.is_floating_point() else []
    if isinstance(result, dict):
        result = result.values()
    elif not isinstance(result, (list, tuple)):
        return []
    return [leaf for part in result for leaf in tensors(part)]


def error(torch, actual, exact):
    together = torch.cat([(a.double() - e.double()).flatten() for a, e in zip(actual, exact, strict=True)])
    return together.square().mean().sqrt().item()


@contextlib.contextmanager
def two_cores():
    """What is started here runs on two of this process's cores."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:2])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@contextlib.contextmanager
def fresh_cache(folder):
    before = os.environ.get("TCC_CACHE_DIR")
    os.environ["TCC_CACHE_DIR"] = str(folder / "cache")
    try:
        yield
    finally:
        os.environ.pop("TCC_CACHE_DIR")
        if before is not None:
            os.environ["TCC_CACHE_DIR"] = before


class Tcc:
    def __init__(self, torch, row, module, inputs, folder, flags):
        import gpu_models
        import tcc_torch
        from compiled import compile_model
        self.library = folder / "model.so"
        gpu_models.export(module.cpu(), inputs, folder / "model.pt2")
        precision = [] if row.narrow else ["--precision", "bf16"]
        with two_cores(), fresh_cache(folder):
            start = time.perf_counter()
            compile_model(folder / "model.pt2", self.library, "--arch", gpu_models.arch(), *precision, *flags)
            self.prepared_in = time.perf_counter() - start
        (folder / "model.pt2").unlink()
        self.model, self.given = tcc_torch.Model(self.library), gpu_models.moved(inputs)
        self.run = lambda: self.model(*self.given)


class Torch:
    def __init__(self, torch, mode, module, inputs):
        import gpu_models
        module = module.to(device="cuda", dtype=torch.bfloat16)
        given = gpu_models.moved(inputs, torch.bfloat16)
        start = time.perf_counter()
        if mode != "eager":
            module = torch.compile(module, mode="default" if mode == "compile" else mode)

        def run():
            with torch.no_grad():
                return module(*given)
        for _ in range(3):
            run()
        torch.cuda.synchronize()
        self.prepared_in = time.perf_counter() - start
        self.run = run


def profile(library, inputs):
    """Lines of tcc-run --profile."""
    from compiled import tool
    ran = subprocess.run([tool("tcc-run"), library, "--bench", "--profile", "--seconds", "0.5"], capture_output=True, text=True)
    return (ran.stdout + ran.stderr).splitlines()


DRIVER_UP = """
import ctypes, time
begin = time.perf_counter()
cuda, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
for status in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
               cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)):
    assert status == 0, status
print(time.perf_counter() - begin)
"""


def start_seconds(library):
    """Seconds from the start of a process to its outputs, and of these the driver's until it has a context: the least
    of three each, in turns."""
    from compiled import tool
    totals, drivers = [], []
    for _ in range(3):
        begin = time.perf_counter()
        subprocess.run([tool("tcc-run"), library], check=True, capture_output=True)
        totals.append(time.perf_counter() - begin)
        drivers.append(float(subprocess.run([sys.executable, "-c", DRIVER_UP], check=True, capture_output=True).stdout))
    return min(totals), min(drivers)


def exact_outputs(torch, row, module, inputs):
    import gpu_models
    dtype = torch.float32 if row.narrow else torch.float64
    module = module.to(device="cuda", dtype=dtype)
    with torch.no_grad():
        result = [leaf.clone() for leaf in tensors(module(*gpu_models.moved(inputs, dtype)))]
    return result


def measure(name, options):
    import torch
    from gpu_rows import ROWS
    row = ROWS[name]
    inputs = row.inputs()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    result = {"row": name, "date": datetime.date.today().isoformat(), "machine": torch.cuda.get_device_name(),
              "torch": torch.__version__, "results": {}, "failed": {}}
    torch._dynamo.reset()
    built = row.build()
    exact = exact_outputs(torch, row, copy.deepcopy(built), inputs)
    gc.collect()
    torch.cuda.empty_cache()
    ready = {}
    with tempfile.TemporaryDirectory(prefix="bench-gpu-") as folder:
        for contestant in ["eager", "tcc", *(peer for peer in options.peers if peer != "eager")]:
            try:
                module = copy.deepcopy(built)
                if contestant == "tcc":
                    made = Tcc(torch, row, module, inputs, pathlib.Path(folder), options.flags.split())
                else:
                    made = Torch(torch, contestant, module, inputs)
                made.error = error(torch, tensors(made.run()), exact)
                if contestant == "tcc" and "eager" in ready and not made.error <= 2 * ready["eager"].error:
                    raise ValueError(f"error {made.error:.3g}, eager's is {ready['eager'].error:.3g}")
                ready[contestant] = made
            except Exception as failure:  # a contestant that cannot run a row is a result
                result["failed"][contestant] = f"{type(failure).__name__}: {str(failure).strip()[:400]}"
        walls, devices = {key: [] for key in ready}, {key: [] for key in ready}
        for _ in range(options.rounds):
            for key, contestant in ready.items():
                contestant.run()
                walls[key].append(walls_ms(torch, contestant.run, options.seconds))
                devices[key].append(events_ms(torch, contestant.run, options.seconds))
        for key, contestant in ready.items():
            result["results"][key] = {
                "wall_ms": statistics.median(walls[key]), "device_ms": statistics.median(devices[key]),
                "error": contestant.error, "prepared_in_s": contestant.prepared_in}
        if "tcc" in ready:
            result["start_s"], result["driver_s"] = start_seconds(ready["tcc"].library)
        if options.profile and "tcc" in ready:
            result["profile"] = profile(ready["tcc"].library, inputs)
    return result


def show(row):
    best = min((r["wall_ms"] for key, r in row["results"].items() if key != "tcc"), default=None)
    ours = row["results"].get("tcc")
    ratio = f"  best peer / tcc {best / ours['wall_ms']:.2f}" if best and ours else ""
    cells = "".join(f"  {key} {r['wall_ms']:.3f} ({r['device_ms']:.3f})" for key, r in row["results"].items())
    print(f"{row['row']:22}{cells}{ratio}   ms: wall (device)", flush=True)
    for key, why in row["failed"].items():
        print(f"    {key}: {why}", flush=True)
    for line in row.get("profile", [])[:16]:
        print(f"    {line}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: text.split(","), default=FIRST)
    parser.add_argument("--peers", type=lambda text: text.split(",") if text != "none" else [], default=PEERS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each figure of each round")
    parser.add_argument("--flags", default="", help="more options for tcc")
    parser.add_argument("--json", type=pathlib.Path, help="a line for each row goes there as well")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--write", nargs="?", const=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    if isinstance(options.write, str):
        rows = [json.loads(line) for line in pathlib.Path(options.write).read_text().splitlines()]
    else:
        for name in options.rows:
            rows.append(measure(name, options))
            show(rows[-1])
            if options.json:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    if options.write:
        import report
        report.write(SOURCE / "docs/performance.md", [], [], 2, gpu=rows)
    return 1 if any("tcc" in row["failed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
