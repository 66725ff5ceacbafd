"""How scripts/bench shows its rows: on the terminal, and in docs/performance.md.

The page keeps its data beside it (docs/performance.json), so that
a run over some models replaces their rows and leaves the others with the date
they were measured on.
"""
import json
import math

from contestants import CONTESTANTS

TITLES = {name: contestant.title for name, contestant in CONTESTANTS.items()}


def head(contestants):
    print(f"{'model':20}" + "".join(f"{TITLES[name]:>15}" for name in contestants) + "   ms, median", flush=True)


def show(row, contestants):
    cells = [f"{row['results'][name]['median_ms']:.3g}" if name in row["results"] else "fails"
             for name in contestants]
    print(f"{row['model']:20}" + "".join(f"{cell:>15}" for cell in cells), flush=True)
    for name, why in row["failed"].items():
        if why != "NotImplementedError: no PyTorch module":
            print(f"    {TITLES[name]}: {why}")


def milliseconds(row, name):
    if name in row["results"]:
        value = row["results"][name]["median_ms"]
        return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return "fails" if name in row["failed"] else ""


def against(row, peer):
    """How many times faster tcc is."""
    if "tcc" in row["results"] and peer in row["results"]:
        return row["results"][peer]["median_ms"] / row["results"]["tcc"]["median_ms"]
    return None


def against_best(row):
    """How many times faster tcc is than the fastest of the others."""
    ratios = [ratio for peer in row["results"] if peer != "tcc" and (ratio := against(row, peer))]
    return min(ratios, default=None)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def merge(old, rows):
    stored = {row["model"]: row for row in old}
    for row in rows:
        kept = stored.get(row["model"])
        if kept and kept["date"] == row["date"]:
            # Peers measured apart on the same day stay; what was measured again is replaced.
            row = {**row, "results": {**kept["results"], **row["results"]},
                   "failed": {name: why for name, why in {**kept["failed"], **row["failed"]}.items()
                              if name not in row["results"]}}
        stored[row["model"]] = row
    return list(stored.values())


def table(rows):
    names = [name for name in CONTESTANTS if any(name in row["results"] for row in rows)]
    lines = ["| model | " + " | ".join(TITLES[name] for name in names) +
             " | ONNX Runtime ÷ tcc | fastest peer ÷ tcc | date |", "|---|" + "---:|" * (len(names) + 2) + "---|"]
    for row in rows:
        ratios = [f"{ratio:.2f}" if ratio else "" for ratio in (against(row, "ort"), against_best(row))]
        lines.append(" | ".join([f"| {row['model']}", *(milliseconds(row, name) for name in names), *ratios,
                                 f"{row['date']} |"]))
    return lines


COMPILE = {"cold_s": "cold, s", "warm_s": "warm cache, s", "peak_mb": "peak memory, MB", "model_mb": "model file, MB",
           "so_mb": "result, MB", "open_ms": "opening, ms"}


def show_compile(row, first):
    if first:
        print(f"{'model':20}" + "".join(f"{title:>18}" for title in COMPILE.values()))
    print(f"{row['model']:20}" + "".join(f"{row[key]:18.2f}" for key in COMPILE), flush=True)


def compile_table(rows):
    return ["| model | " + " | ".join(COMPILE.values()) + " |", "|---|" + "---:|" * len(COMPILE),
            *[f"| {row['model']} | " + " | ".join(f"{row[key]:.2f}" for key in COMPILE) + " |" for row in rows]]


def named(versions):
    return ", ".join(f"{name} {value}" for name, value in versions.items())


def write(page, rows, compile_rows, machine, versions, options):
    data = page.with_suffix(".json")
    stored = json.loads(data.read_text()) if data.exists() else {}
    rows = merge(stored.get("rows", []), rows)
    compiles = {row["model"]: row for row in stored.get("compile", []) + compile_rows}
    # The two tables are measured apart, perhaps on different commits.
    ran, compiled = stored.get("versions", versions), stored.get("compile_versions", versions)
    if compile_rows:
        compiled = {"tcc": versions["tcc"]}
    else:
        ran = versions
    data.write_text(json.dumps({"machine": machine, "versions": ran, "rows": rows, "compile_versions": compiled,
                                "compile": list(compiles.values())}, indent=1) + "\n")
    lines = ["# Performance on the CPU", "",
             "Written by `scripts/bench cpu --write` and `scripts/bench compile --write`; do not edit.", "",
             f"- Machine: {machine}", f"- Versions: {named(ran)}; of tcc, for compiling: {compiled['tcc']}"]
    if rows:
        lines += ["", "## Running", "", "Milliseconds a run, medians, lower is better: float32, "
                  f"{options.threads} threads, all engines in turns in one process, outputs checked. "
                  "torch.compile has its weights frozen, as every other compiler here.", "", *table(rows)]
        for title, ratio in (("ONNX Runtime", lambda row: against(row, "ort")), ("fastest peer", against_best)):
            if ratios := [value for row in rows if (value := ratio(row))]:
                lines += ["", f"Geometric mean of {title} ÷ tcc over {len(ratios)} models: "
                          f"{geometric_mean(ratios):.2f}."]
    if compiles:
        lines += ["", "## Compiling", "", "The fastest of three; all cores.", "", *compile_table(compiles.values())]
    page.write_text("\n".join(lines) + "\n")
