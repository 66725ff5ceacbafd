"""Runs what pack_models.py packed, on a machine with a GPU: which results are right, and how long models take.

    python run_models.py FOLDER [--jobs N] [--seconds S]

Exit code 1 if a result is wrong or a model fails. Each model is timed by tcc-run --bench, with its inputs and
outputs on the device, and its kernels by --profile.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def tcc_run(*args, timeout=120):
    try:
        return subprocess.run([HERE / "tcc-run", *map(str, args)], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(args, 124, "", f"not done after {timeout} s")


def make_weights(place):
    """Weights for a model that came without: numbers of about 0.01 of both signs, the same each time."""
    name, offset, left = (place / "weights.range").read_text().split()
    left = int(left)
    numbers = random.Random(0)
    block = b"".join(struct.pack("<f", numbers.uniform(-0.02, 0.02)) for _ in range(1 << 18))
    with (place / name).open("r+b") as file:
        file.seek(int(offset))
        while left > 0:
            left -= file.write(block[:min(left, len(block))])
    return [] if name == "model.so" else ["--weights", place / name]


def check(place):
    """None where all data sets match, else what is wrong."""
    for data in sorted(place.glob("data_*")):
        ran = tcc_run(place / "model.so", "--data", data, "--rtol", "1e-3", "--atol", "1e-5")
        if ran.returncode:
            return (ran.stdout + ran.stderr).strip().replace("\n", " ")[:300] or f"exit {ran.returncode}"
    return None


def check_all(places, jobs):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(zip(places, pool.map(check, places)))
    wrong = [(place, why) for place, why in results if why]
    for place, why in wrong:
        print(f"WRONG {place.name}: {why}")
    print(f"{len(results) - len(wrong)} of {len(results)} match", flush=True)
    return bool(wrong)


def bench(place, seconds):
    weights = make_weights(place) if (place / "weights.range").exists() else []
    data = ["--data", next(iter(sorted(place.glob("data_*"))))] if list(place.glob("data_*")) else []
    ran = tcc_run(place / "model.so", "--bench", "--json", "--seconds", seconds, *data, *weights)
    if ran.returncode:
        print(f"{place.name}: {(ran.stdout + ran.stderr).strip()}", flush=True)
        return True
    times = json.loads(ran.stdout)
    print(f"{place.name}: wall {times['median_ms']:.4f} ms, device {times.get('device_ms', 0):.4f} ms, "
          f"opened in {times['open_ms']:.0f} ms")
    profile = tcc_run(place / "model.so", "--bench", "--profile", "--seconds", 0.3, *data, *weights)
    print("\n".join(profile.stdout.splitlines()[1:14]), flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1)
    args = parser.parse_args()
    cases = sorted(path.parent for path in args.folder.glob("cases/*/model.so"))
    models = sorted(path.parent for path in args.folder.glob("models/*/model.so"))
    bad = check_all(cases, args.jobs)
    bad |= check_all([place for place in models if not (place / "weights.range").exists()], 4)
    for place in models:
        bad |= bench(place, args.seconds)
    sys.exit(bad)


if __name__ == "__main__":
    main()
