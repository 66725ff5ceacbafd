"""Packs whole models for a machine with a GPU: compiled here, run there by run_models.py.

    python pack_models.py FOLDER ARCH [--every N] [--models NAME ...] [--jobs N] [TCC OPTION ...]

ONNX's backend cases (every Nth) and models of scripts/export-models and scripts/fetch-models, each a folder
with a model.so and data sets, input_*.pb and output_*.pb. A model that is too large for what travels goes
without its weights; run_models.py makes some there, and only times it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "build/third_party/onnx-1.22.0/onnx/backend/test/data"
MODELS = pathlib.Path(os.environ["TCC_CACHE"]) / "models"  # scripts/environment.sh
LARGE = 40 << 20  # bytes of weights that stay here


def backend_cases(every):
    """(name, model, data sets) of the cases with data of tensors."""
    folders = sorted(path.parent for kind in ("node", "simple", "pytorch-operator", "pytorch-converted")
                     for path in (CASES / kind).glob("*/model.onnx"))
    for folder in folders[::every]:
        yield folder.name, folder / "model.onnx", sorted(folder.glob("test_data_set_*"))


def trained_models(names):
    for name in names:
        models = sorted((MODELS / name).glob("*.onnx"))
        if models:
            yield name, models[0], sorted((MODELS / name).glob("test_data_set_*"))


def leave_weights(library):
    """Large weights, in a file or a section of their own, stay here: zeros travel as nothing."""
    holder = library.with_name(library.name + ".safetensors")
    with (holder if holder.exists() else library).open("r+b") as file:
        offset, size = range_of_file(file) if holder.exists() else range_of_section(file)
        if size < LARGE:
            return
        file.seek(offset)
        if holder.exists():
            file.truncate()
        while not holder.exists() and file.tell() < offset + size:
            file.write(bytes(min(1 << 20, offset + size - file.tell())))
        name = pathlib.Path(file.name).name
    library.with_name("weights.range").write_text(f"{name} {offset} {size}")


def range_of_file(file):
    head = 8 + int.from_bytes(file.read(8), "little")
    return head, file.seek(0, os.SEEK_END) - head


def range_of_section(file):
    head = file.read(64)
    at, size, count = (int.from_bytes(head[a:b], "little") for a, b in ((40, 48), (58, 60), (60, 62)))
    file.seek(at)
    sections = [struct.unpack("<IIQQQQIIQQ", file.read(size)) for _ in range(count)]
    return max(((s[4], s[5]) for s in sections if s[1] == 1), key=lambda s: s[1])


def pack(task, folder, options):
    name, model, data = task
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    library = place / "model.so"
    made = subprocess.run([ROOT / "build/dev/bin/tcc", model, "-o", library, "--jobs", "1", *options],
                          capture_output=True, text=True)
    if made.returncode:
        shutil.rmtree(place)
        return name, made.stderr.strip().splitlines()[-1] if made.stderr.strip() else f"exit {made.returncode}"
    (place / "model.so.json").unlink(missing_ok=True)
    leave_weights(library)
    for number, path in enumerate(data):
        shutil.copytree(path, place / f"data_{number}", dirs_exist_ok=True)
    return name, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("arch")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args, options = parser.parse_known_args()
    options = ["--arch", args.arch, "--cpu", "x86-64-v3", *options]
    tasks = [("cases", task) for task in backend_cases(args.every)]
    tasks += [("models", task) for task in trained_models(args.models)]
    refused = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, why in pool.map(lambda t: pack(t[1], args.folder / t[0], options), tasks):
            if why:
                refused.append(f"{name}: {why}")
    (args.folder / "refused.txt").write_text("".join(line + "\n" for line in refused))
    print(f"{len(tasks) - len(refused)} packed, {len(refused)} refused")
    shutil.copy(ROOT / "build/dev/bin/tcc-run", args.folder)
    shutil.copy(pathlib.Path(__file__).with_name("run_models.py"), args.folder)


if __name__ == "__main__":
    main()
