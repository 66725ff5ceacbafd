"""How scripts/bench shows its rows: on the terminal, and in docs/performance.md.

The page keeps its data beside it (docs/performance.json), so that a run over some
models replaces their rows. Each row has the date and the machine it was measured on,
each figure the version that it was measured with.
"""
import json
import math
import statistics

from contestants import CONTESTANTS
from rows import CLASSES, MODELS

TITLES = {name: contestant.title for name, contestant in CONTESTANTS.items()}


def head(contestants):
    print(f"{'model':20}" + "".join(f"{TITLES[name]:>15}" for name in contestants) + "   ms, median", flush=True)


def show(row, contestants):
    print(f"{row['model']:20}" + "".join(f"{milliseconds(row, name):>15}" for name in contestants), flush=True)
    for name, why in row["failed"].items():
        print(f"    {TITLES[name]}: {why}")


def milliseconds(row, name):
    """A figure, that the engine failed on the model, or that nobody tried it."""
    if name in row["results"]:
        value = row["results"][name]["median_ms"]
        return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return "fails" if name in row["failed"] else "not run"


def against(row, peer):
    """How many times faster tcc is."""
    if "tcc" in row["results"] and peer in row["results"]:
        return row["results"][peer]["median_ms"] / row["results"]["tcc"]["median_ms"]
    return None


def is_peer(name):
    """Not so what tcc itself makes in another mode."""
    return CONTESTANTS[name].package != "tcc"


def against_best(row):
    """How many times faster tcc is than the fastest of the others."""
    ratios = [ratio for peer in row["results"] if is_peer(peer) and (ratio := against(row, peer))]
    return min(ratios, default=None)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def processor(machine):
    """A machine without the version of its kernel: what keeps rows apart that are not to be compared."""
    return machine.rsplit(", Linux ", 1)[0]


def processors(rows):
    return list(dict.fromkeys(processor(row["machine"]) for row in rows))


def place_of(row):
    """What a newer row replaces: that of the same model on the same kind of machine."""
    return row["model"], processor(row["machine"])


def merge(old, rows):
    stored = {place_of(row): row for row in old}
    for row in rows:
        kept = stored.get(place_of(row))
        if kept and (kept["date"], kept["machine"]) == (row["date"], row["machine"]):
            # Peers measured apart on the same day stay; what was tried again is replaced.
            tried = {*row["results"], *row["failed"], *row["not_run"]}
            row = {**row, **{part: {**{name: value for name, value in kept[part].items() if name not in tried},
                                    **row[part]} for part in ("results", "failed", "not_run")}}
        stored[place_of(row)] = row
    return list(stored.values())


def upgrade(stored):
    """Data of before each figure had its own version; it had that of the run which wrote the page."""
    packages = {name: contestant.package for name, contestant in CONTESTANTS.items()}
    for row in stored.get("rows", []):
        row.setdefault("machine", stored.get("machine", "?"))
        if "not_run" not in row:
            row["not_run"] = {name: "no PyTorch module" for name, why in row["failed"].items()
                              if why == "NotImplementedError: no PyTorch module"}
            row["failed"] = {name: why for name, why in row["failed"].items() if name not in row["not_run"]}
        for name, result in row["results"].items():
            result.setdefault("version", stored.get("versions", {}).get(packages[name], "?"))
            result.setdefault("preallocated", False)
    for row in stored.get("compile", []):
        row.setdefault("machine", stored.get("machine", "?"))
        row.setdefault("version", stored.get("compile_versions", {}).get("tcc", "?"))
        row.setdefault("date", "")
    return stored


TITLES_OF = {"tcc": "tcc", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "torch": "PyTorch"}


def usual_versions(rows):
    """Of each peer, the version of most rows; only others are told in a row."""
    found = {}
    for row in rows:
        for name, result in row["results"].items():
            if is_peer(name):
                found.setdefault(TITLES_OF[CONTESTANTS[name].package], []).append(result["version"])
    return {package: max(set(versions), key=versions.count) for package, versions in found.items()}


def stamp(row, usual):
    """tcc's version, and those of peers that are not as the head of the page says."""
    parts = [row["results"]["tcc"]["version"] if "tcc" in row["results"] else ""]
    for name, result in row["results"].items():
        package = TITLES_OF[CONTESTANTS[name].package]
        if is_peer(name) and result["version"] != usual[package]:
            parts.append(f"{package} {result['version']}")
    return ", ".join(filter(None, dict.fromkeys(parts)))


def ratios_of(rows):
    """Columns of ratios: beside the peers, and what max-autotune gains where it was measured."""
    kinds = {"ONNX Runtime ÷ tcc": lambda row: against(row, "ort"), "fastest peer ÷ tcc": against_best}
    tuned = {"tcc ÷ tcc, max-autotune": lambda row: (gain := against(row, "tuned")) and 1 / gain}
    return {**kinds, **(tuned if any("tuned" in row["results"] for row in rows) else {})}


def table(rows):
    names = [name for name in CONTESTANTS if any(name in row["results"] for row in rows)]
    usual = usual_versions(rows)
    kinds = ratios_of(rows)
    lines = ["| model | " + " | ".join([TITLES[name] for name in names] + list(kinds)) + " | tcc's version | date |",
             "|---|" + "---:|" * (len(names) + len(kinds)) + "---|---|"]
    for row in rows:
        ratios = [f"{ratio:.2f}" if (ratio := kind(row)) else "" for kind in kinds.values()]
        lines.append(" | ".join([f"| {row['model']}", *(milliseconds(row, name) for name in names), *ratios,
                                 stamp(row, usual), f"{row['date']} |"]))
    return lines


def means(rows, classes):
    """Geometric means of each class, and of all."""
    kinds = ratios_of(rows)
    lines = ["| geometric mean | models | " + " | ".join(kinds) + " |", "|---|---:|" + "---:|" * len(kinds)]
    groups = {name: [row for row in rows if row["model"] in models] for name, models in classes.items()}
    for name, group in {**groups, "all": rows}.items():
        cells = [geometric_mean([value for row in group if (value := ratio(row))]) for ratio in kinds.values()]
        if any(cells):
            lines.append(f"| {name} | {len(group)} | " + " | ".join(f"{x:.2f}" if x else "" for x in cells) + " |")
    return lines


COMPILE = {"cold_s": "cold, s", "warm_s": "warm cache, s", "peak_mb": "peak memory, MB", "model_mb": "model file, MB",
           "so_mb": "result, MB", "open_ms": "opening, ms"}


def show_compile(row, first):
    if first:
        print(f"{'model':20}" + "".join(f"{title:>18}" for title in COMPILE.values()))
    print(f"{row['model']:20}" + "".join(f"{row[key]:18.2f}" for key in COMPILE), flush=True)


def compile_table(rows):
    return ["| model | " + " | ".join(COMPILE.values()) + " | tcc's version | date |",
            "|---|" + "---:|" * len(COMPILE) + "---|---|",
            *[f"| {row['model']} | " + " | ".join(f"{row[key]:.2f}" for key in COMPILE) +
              f" | {row['version']} | {row['date']} |" for row in rows]]


def cold_summary(rows):
    """Of many small models: how long they take, whether that grows with their kernels, and the slowest."""
    seconds, cpu = (sorted(row[kind] for row in rows) for kind in ("seconds", "cpu_seconds"))
    each = sorted(1e3 * row["cpu_seconds"] / max(1, row["kernels"]) for row in rows)
    slowest = sorted(rows, key=lambda row: -row["seconds"])[:5]
    stamps = sorted({(row["date"], row["version"]) for row in rows})
    return [f"{len(rows)} models of `test/models/zoo.py`, without a cache, on all cores, one attempt each: median "
            f"{statistics.median(seconds):.2f} s, nine of ten below {seconds[len(seconds) * 9 // 10]:.2f} s, most "
            f"{seconds[-1]:.2f} s. Of CPU, which other work on the machine changes less: median {statistics.median(cpu):.2f} s, "
            f"most {cpu[-1]:.2f} s, {sum(row['kernels'] for row in rows)} kernels, median {statistics.median(each):.0f} ms for "
            f"each kernel of a model, nine of ten models below {each[len(each) * 9 // 10]:.0f} ms. Slowest: " +
            ", ".join(f"{row['model']} {row['seconds']:.2f} s ({row['kernels']} kernels)" for row in slowest) +
            ". tcc " + ", ".join(f"{version} ({date})" for date, version in stamps) + "."]


def how_outputs(rows):
    """Engines that can write into outputs which are there already do; older rows allocated them in every run."""
    can = [(row["model"], CONTESTANTS[name].title, result["preallocated"]) for row in rows
           for name, result in row["results"].items() if CONTESTANTS[name].preallocated]
    titles = " and ".join(dict.fromkeys(title for _, title, _ in can))
    if not can or not any(done for _, _, done in can):
        return f" {titles} allocated their outputs in every run, as tcc did." if can else ""
    older = sorted({model for model, _, done in can if not done})
    return f" {titles} wrote into outputs allocated beforehand; tcc and PyTorch allocated theirs in every run" + (
        f" (so did all on {', '.join(older)})." if older else ".")


GPU_PEERS = {"eager": "eager", "compile": "torch.compile", "reduce-overhead": "reduce-overhead",
             "max-autotune": "max-autotune"}


def gpu_table(rows):
    """Wall and device times; the ratio is of the wall times of tcc and the fastest peer."""
    peers = [name for name in GPU_PEERS if any(name in row["results"] for row in rows)]
    lines = ["| model | tcc | " + " | ".join(GPU_PEERS[name] for name in peers) +
             " | fastest peer ÷ tcc | compile, s | start, s | machine | date |",
             "|---|" + "---:|" * (len(peers) + 4) + "---|---|"]
    for row in rows:
        results = row["results"]
        cells = [f"{results[name]['wall_ms']:.3f} ({results[name]['device_ms']:.3f})" if name in results
                 else "fails" if name in row["failed"] else "not run" for name in ["tcc", *peers]]
        best = min((results[name]["wall_ms"] for name in peers if name in results), default=None)
        ratio = f"{best / results['tcc']['wall_ms']:.2f}" if best and "tcc" in results else ""
        compiled = f"{results['tcc']['prepared_in_s']:.1f}" if "tcc" in results else ""
        start = f"{row['start_s'] - row['driver_s']:.2f}" if "start_s" in row else ""
        lines.append(" | ".join([f"| {row['row']}", *cells, ratio, compiled, start, f"{row['machine']}, torch {row['torch']}",
                                 f"{row['date']} |"]))
    return lines


def kernel_table(rows):
    """Microseconds, and what was reached of the unit that bounds a kernel."""
    lines = ["| kernel | type | tcc, µs | rate | fastest peer, µs | peer ÷ tcc | machine | date |", "|---|---|---:|---:|---:|---:|---|---|"]
    for row in rows:
        rate = (f"{row['flops'] / row['us'] * 1e-6:.0f} TFLOP/s" if row["kind"] != "memory" and row["flops"]
                else f"{row['bytes'] / row['us'] * 1e-3:.0f} GB/s")
        lines.append(f"| {row['row']} | {row['type']} | {row['us']:.1f} | {rate} | {row['best']:.1f} ({row['peer']}) | "
                     f"{row['best'] / row['us']:.2f} | {row['machine']}, torch {row['torch']} | {row['date']} |")
    return lines


def processor_section(kind, rows, compiles, cold, threads):
    """What was measured on one kind of machine."""
    machines = dict.fromkeys(row["machine"] for row in rows + compiles + cold)
    lines = ["", f"## On {kind}", "", *(f"- Machine: {machine}" for machine in machines)]
    if rows:
        usual = ", ".join(f"{name} {version}" for name, version in usual_versions(rows).items())
        lines += [f"- Versions, where a row does not say another: {usual}",
                  "", "### Running", "", "Milliseconds a run, medians, lower is better: float32, "
                  f"{threads} threads, all engines in turns in one process, outputs checked. "
                  "torch.compile has its weights frozen, as every other compiler here." + how_outputs(rows), "",
                  *table(rows), "", *means(rows, CLASSES)]
    if compiles:
        lines += ["", "### Compiling", "", "The fastest of three; all cores.", "", *compile_table(compiles)]
    if cold:
        lines += ["", *cold_summary(cold)]
    return lines


def write(page, rows, compile_rows, threads, gpu=(), kernels=(), cold=()):
    data = page.with_suffix(".json")
    stored = upgrade(json.loads(data.read_text()) if data.exists() else {})
    place = {model: number for number, model in enumerate(MODELS)}
    rows = sorted(merge(stored.get("rows", []), rows), key=lambda row: place.get(row["model"], len(MODELS)))
    compiles = list({place_of(row): row for row in stored.get("compile", []) + compile_rows}.values())
    # Kernels by time are for who measures.
    gpu = list({(row["machine"], row["row"]): {key: value for key, value in row.items() if key != "profile"}
                for row in [*stored.get("gpu", []), *gpu]}.values())
    kernels = list({(row["machine"], row["row"], row["type"]): row for row in [*stored.get("kernels", []), *kernels]}.values())
    cold = sorted({place_of(row): row for row in [*stored.get("cold", []), *cold]}.values(), key=lambda row: row["model"])
    parts = {"rows": rows, "compile": compiles, "cold": cold, "gpu": gpu, "kernels": kernels}
    data.write_text(json.dumps({name: part for name, part in parts.items() if part or name in ("rows", "compile")},
                               indent=1) + "\n")
    lines = ["# Performance", "",
             "Written by `scripts/bench cpu --write` and `scripts/bench compile --write`; do not edit."]
    for kind in processors(rows + compiles + cold):
        lines += processor_section(kind, *([row for row in part if processor(row["machine"]) == kind]
                                           for part in (rows, compiles, cold)), threads)
    if gpu:
        lines += ["", "## On a GPU", "", "Milliseconds a run in bf16, medians, all contestants in turns in one process, "
                  "outputs compared with float64: a single call with a wait after it and, in parentheses, on the device, "
                  "of many calls in a row. Compiling: on two cores without a cache. Start: from the start of a process to its "
                  "outputs on the host, without the time in which the driver comes up. Written by "
                  "`scripts/bench gpu --write`.", "", *gpu_table(gpu)]
    if kernels:
        lines += ["", "### Kernels", "", "Single launches beside NVIDIA's libraries, on the same tensors in one process, outputs "
                  "compared: medians of captured graphs, operands from memory. Products: cuBLASLt's fastest algorithm of those "
                  "that it proposes; convolutions: cuDNN's fastest; attention: the faster of flash and cuDNN; the others: "
                  "the faster of PyTorch and a copy of as many bytes. Flops of attention count hidden keys. Written by "
                  "`scripts/bench kernels --write`.", "", *kernel_table(kernels)]
    page.write_text("\n".join(lines) + "\n")
