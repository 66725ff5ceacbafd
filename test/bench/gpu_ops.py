"""`scripts/bench gpu-ops`: the operators and blocks of `scripts/bench ops` on a GPU, beside PyTorch eager.

    scripts/bench gpu-ops [--only attention,order/sort] [--as bf16] [--part 1/4] [--json FILE]
    scripts/bench gpu-ops --write FILE                    merges the rows of FILE into docs/performance-gpu-operators.md

Every case (opcases.py) is exported and compiled on all cores first, for the GPU that is there. Then one process after
the other takes cases: it holds tcc's outputs against eager's, on the device, and times both in turns, on the same
tensors: one call among many that are queued, the host's work included, and one of many in a captured graph, which is
the device's work alone. What cannot be captured (its host reads what the device computes) has the first figure only.
A case that kills its process or does not end is a result, and the next process goes on behind it. So it does behind a
capture that failed, after which a process captures nothing more.

--as bf16 turns the floats of arguments and weights to that type, of cases that name none. Matrix units do not round f32.
"""
import argparse
import datetime
import json
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile
import time
import warnings

import ops

SOURCE = ops.SOURCE
sys.path.insert(0, str(SOURCE / "test/device"))
PAGE = SOURCE / "docs/performance-gpu-operators.md"
ENGINES = ("tcc", "eager")
PATIENCE = 60  # seconds for a case


def built(name, dtype):
    """The module and arguments of a case, floats of f32 as `dtype`."""
    from gpu_models import moved
    from opcases import CASES, F32
    module, arguments = ops.build(CASES[name])
    if dtype:
        arguments = [moved(a, dtype, "cpu") if a.dtype == F32 else a for a in arguments]
        module = module.to(dtype)
    return module, arguments


def with_type(names, short):
    """Cases that name no type and have something of f32."""
    from opcases import SHORT
    return [name for name in names if not set(name.replace("-", "/").split("/")) & set(SHORT.values())] if short else names


def type_of(options):
    from opcases import SHORT
    return {short: dtype for dtype, short in SHORT.items()}[options.narrow] if options.narrow else None


def label(name, options):
    return name + (f" as {options.narrow}" if options.narrow else "")


def prepare(job):
    """Exports and compiles one case; what went wrong, or nothing."""
    import torch
    from compiled import compile_model
    from opcases import CASES
    name, options, library = job
    try:
        program = ops.exported(*built(name, type_of(options)), CASES[name])
        torch.export.save(program, library.with_suffix(".pt2"))
        compile_model(library.with_suffix(".pt2"), library, "--arch", options.arch, *options.flags.split())
    except Exception as failure:  # what cannot be compiled is a result
        return f"{type(failure).__name__}: {' '.join(str(failure).split())[:300]}"
    finally:
        library.with_suffix(".pt2").unlink(missing_ok=True)
    return None


def events_us(torch, run, count):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / count


def captured(torch, run, count):
    """A graph of so many calls, in the stream of the process: what is captured may not wait for another one."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        for _ in range(count):
            run()
    return graph


def times(torch, ready):
    """Microseconds of a call of each engine, in turns: among queued ones and in a graph; and why there is no graph."""
    queued, replayed, graphs, failed = {}, {}, {}, {}
    counts = {name: max(3, min(500, int(4e3 / max(events_us(torch, run, 3), 1)))) for name, run in ready.items()}
    for name, run in ready.items():
        calls = max(1, min(40, counts[name] // 4))
        try:
            graphs[name] = captured(torch, run, calls), calls
        except Exception as failure:  # its host waits for the device
            failed[name] = ' '.join(str(failure).split())[:120]
            torch.cuda.synchronize()
            break
    for _ in range(5):
        for name, run in ready.items():
            queued.setdefault(name, []).append(events_us(torch, run, counts[name]))
            if name in graphs:
                graph, calls = graphs[name]
                replays = max(1, counts[name] // calls)
                graph.replay()
                replayed.setdefault(name, []).append(events_us(torch, graph.replay, replays) / calls)
    return {"queued": {name: statistics.median(found) for name, found in queued.items()},
            "graph": {name: statistics.median(found) for name, found in replayed.items()}, "uncaptured": failed}


def measure(name, library, why, options):
    import tcc_torch
    import torch
    from gpu_models import moved
    from opcases import CASES
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    module, arguments = built(name, type_of(options))
    given, module = moved(arguments), module.cuda()

    def eager():
        with torch.no_grad():
            return module(*given)
    expected = ops.tensors(eager())
    moved_bytes = sum(t.numel() * t.element_size() for t in [*arguments, *module.parameters(), *expected])
    row = {"case": label(name, options), "bytes": moved_bytes,
           "flops": CASES[name].flops, "failed": {}, "queued": {}, "graph": {}, "date": datetime.date.today().isoformat(),
           "machine": options.machine, "torch": torch.__version__}
    ready = {"eager": eager}
    try:
        if why:
            raise RuntimeError(why)
        model = tcc_torch.Model(library)
        outputs = [o.clone() for o in model(*given)]
        model.synchronize()
        error = ops.difference(outputs, expected, ops.places(CASES[name], given))
        if not error <= 1 and not (error := beside_exact(name, options, outputs, expected)) <= 1:
            raise ValueError(f"wrong output: {error:.2g} times what the type allows")
        row["error"] = error
        ready = {"tcc": lambda: model(*given), **ready}
    except Exception as failure:  # what tcc cannot run is a result
        row["failed"]["tcc"] = f"{type(failure).__name__}: {' '.join(str(failure).split())[:300]}"
    if "tcc" in ready:
        row.update(times(torch, ready))
    return row


def beside_exact(name, options, outputs, expected):
    """The difference from float64 on the CPU, in units of eager's own where this is off by more than it may be."""
    import torch
    from gpu_models import moved
    from opcases import CASES
    module, arguments = built(name, type_of(options))
    with torch.no_grad():
        exact = ops.tensors(module.double()(*moved(arguments, torch.float64, "cpu")))
    narrow = [e.to(o.dtype) if e.is_floating_point() else e for e, o in zip(exact, expected)]
    places = ops.places(CASES[name], arguments)
    ours, theirs = (ops.difference([x.cpu() for x in found], narrow, places) for found in (outputs, expected))
    return ours / max(theirs, 1)


def serve(options, connection):
    """Measures case after case and sends the rows; behind a capture that failed it sends nothing, and ends."""
    import torch
    warnings.simplefilter("ignore")
    torch.set_num_threads(4)
    torch.cuda.set_stream(torch.cuda.Stream())
    zero = torch.zeros(1, device="cuda")
    captured(torch, lambda: zero + 1, 1)  # a process's first capture brings what others need
    try:
        jobs = connection.recv()
    except EOFError:  # there is nothing left to do
        return
    for number, job in enumerate(jobs):
        try:
            row = measure(*job, options)
        except Exception as failure:  # eager itself does not run it
            row = {"case": label(job[0], options), "not_a_case": f"{type(failure).__name__}: {' '.join(str(failure).split())[:200]}"}
        connection.send(row)
        if row.get("uncaptured"):
            connection.send(None)
            return
        if number % 16 == 15:
            torch.cuda.empty_cache()


def in_processes(jobs, options):
    """Rows of all jobs; each process goes on behind the one that ended before it, and is ready by then. Forks would share
    CUDA's state."""
    start = multiprocessing.get_context("spawn")

    def started():
        ours, theirs = start.Pipe()
        process = start.Process(target=serve, args=(options, theirs))
        process.start()
        theirs.close()
        return process, ours
    spare = started()
    while jobs:
        (process, connection), spare = spare, started()
        connection.send(jobs)
        done, given_up = 0, False
        try:
            while done < len(jobs) and not given_up and connection.poll(PATIENCE):
                row = connection.recv()
                given_up = row is None
                if row:
                    yield row
                    done += 1
        except (EOFError, ConnectionResetError):
            pass
        if done < len(jobs) and not given_up:
            process.kill()
            yield {"case": label(jobs[done][0], options), "machine": options.machine, "queued": {}, "graph": {},
                   "failed": {"tcc": "the process that ran it ended, or did not go on"}}
            done += 1
        connection.close()
        process.join()
        jobs = jobs[done:]
    spare[1].close()
    spare[0].join()


def ratio(row, kind="graph"):
    """Eager's time by tcc's."""
    found = row[kind]
    return found["eager"] / found["tcc"] if {*ENGINES} <= {*found} else None


def known_ratio(row):
    return ratio(row) or ratio(row, "queued")


def show(row):
    if "not_a_case" in row:
        print(f"{row['case']:44} no case: {row['not_a_case']}", flush=True)
        return
    figures = "".join(f"{row[kind].get(name, float('nan')):10.1f}" for kind in ("graph", "queued") for name in ENGINES)
    print(f"{row['case']:44}{figures}{known_ratio(row) or float('nan'):8.2f}", flush=True)
    for name, why in row["failed"].items():
        print(f"    {name}: {why}", flush=True)
    for name, why in row.get("uncaptured", {}).items():
        print(f"    {name}, graph: {why}", flush=True)


def section(machine, rows):
    known = sorted((row for row in rows if known_ratio(row)), key=known_ratio)
    ratios = [known_ratio(row) for row in known]
    lines = [f"## {machine}", "", f"- PyTorch {', '.join(sorted({row['torch'] for row in known}))}."]
    lines += [f"- {len(known)} cases; eager's time by tcc's: median {statistics.median(ratios):.2f}, "
              f"{sum(r < 0.95 for r in ratios)} below 0.95, least {ratios[0]:.2f}.", ""] if known else [""]
    lines += ["| case | tcc, graph | eager, graph | tcc, queued | eager, queued | eager ÷ tcc |", "|---|" + "---:|" * 5]
    for row in known:
        cells = [f"{row[kind][name]:,.1f}" if name in row[kind] else "" for kind in ("graph", "queued") for name in ENGINES]
        lines.append(f"| {row['case']} | " + " | ".join(cells) + f" | {known_ratio(row):.2f} |")
    return [*lines, *ops.not_run(rows), ""]


def store(rows):
    """Merges the rows into the page's data and writes the page."""
    data = PAGE.with_suffix(".json")
    stored = json.loads(data.read_text()) if data.exists() else []
    merged = {(row.get("machine", ""), row["case"]): row for row in [*stored, *rows] if "not_a_case" not in row}
    data.write_text(json.dumps(list(merged.values()), indent=1) + "\n")
    lines = ["# Operators and blocks on a GPU", "", "Written by `scripts/bench gpu-ops --write`; do not edit.", "",
             "Microseconds of a call, medians, both engines in turns in one process on the same tensors, outputs compared: in "
             "a captured graph, which is the device's work alone, and among queued calls from Python. The ratio is of the graphs, "
             "where both can be captured. f32 is not rounded for matrix units.", ""]
    for machine in sorted({machine for machine, _ in merged if machine}):
        lines += section(machine, [row for (of, _), row in merged.items() if of == machine])
    PAGE.write_text("\n".join(lines))


def parse(argv):
    parser = argparse.ArgumentParser(prog="scripts/bench gpu-ops", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="comma-separated beginnings of names")
    parser.add_argument("--cases", type=pathlib.Path, help="a file with the names of the cases")
    parser.add_argument("--as", dest="narrow", default="", help="bf16 or f16: the type of what is f32")
    parser.add_argument("--part", default="1/1", help="2/4: the second of four, every fourth case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--arch", help="what tcc compiles for, unless the GPU that is there")
    parser.add_argument("--flags", default="", help="more options for tcc")
    parser.add_argument("--json", type=pathlib.Path, help="a line for each row goes there as well")
    parser.add_argument("--write", type=pathlib.Path, help="of such a file, the page")
    return parser.parse_args(argv)


def main(argv):
    options = parse(argv)
    if options.write:
        store([json.loads(line) for line in options.write.read_text().splitlines()])
        return 0
    import gpu_models
    import opcases  # noqa: F401  before processes start
    import torch
    torch.set_num_threads(1)
    options.arch = options.arch or ops.apart(gpu_models.arch)
    options.machine = ops.apart(torch.cuda.get_device_name)
    part, parts = map(int, options.part.split("/"))
    names = options.cases.read_text().split() if options.cases else ops.chosen(options)
    names = with_type(names, options.narrow)[part - 1::parts]
    failed = False
    with tempfile.TemporaryDirectory(prefix="tcc-gpu-ops-") as folder:
        libraries = {name: pathlib.Path(folder) / f"{number}.so" for number, name in enumerate(names)}
        begin = time.perf_counter()
        torch.export.export(torch.nn.ReLU(), (torch.zeros(2, 3),))  # what it loads on first use, all have
        with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
            why = pool.map(prepare, [(name, options, libraries[name]) for name in names], chunksize=1)
        print(f"{len(names)} cases compiled in {time.perf_counter() - begin:.0f} s")
        print(f"{'case':44}" + "".join(f"{name:>10}" for name in (*ENGINES, *ENGINES)) + "   ratio   (us: graph, queued)", flush=True)
        for row in in_processes([(name, libraries[name], w) for name, w in zip(names, why)], options):
            show(row)
            failed |= "tcc" in row.get("failed", {})
            if options.json:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
