"""The two ends of text recognition that scripts/quickstart shows: a picture in, text out.

    readtext.py picture MODEL FOLDER    writes FOLDER/line.png and FOLDER/x.npy
    readtext.py text MODEL OUTPUT.npy   prints the text that the output spells
"""
import sys

import numpy as np
import onnx
from PIL import Image

import signals


def write_picture(_, folder):
    picture = signals.text_line(signals.LINES[0], 48)
    Image.fromarray(picture).save(f"{folder}/line.png")
    np.save(f"{folder}/x.npy", signals.planar(picture))


def spell(model, output):
    """Greedy CTC: the best class of each column, repetitions and blanks (class 0) dropped."""
    metadata = {entry.key: entry.value for entry in onnx.load(model).metadata_props}
    alphabet = ["", *metadata["character"].splitlines(), " "]
    best = np.load(output)[0].argmax(-1)
    return "".join(alphabet[k] for k, before in zip(best, [-1, *best[:-1]]) if k != before)


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "picture":
        write_picture(*arguments)
    else:
        print(spell(*arguments))
