"""Inputs for trained models: pictures with text, speech-like sound, chords, brain waves, sentences.

All are made from a seed or from fixed words, so that a data set is the same
everywhere, and close enough to what a model was trained on to wake it up.
"""
import numpy as np
from PIL import Image, ImageDraw, ImageFont

LINES = ["Ahead of time, not just in time", "0123456789 kernels fused",
         "OPEN DAILY 9:30 - 18:45", "Total: 1,299.00 EUR"]


def page(width, height, seed=0):
    """A picture of lines of text over an uneven background, uint8 [height, width, 3]."""
    rng = np.random.default_rng(seed)
    shade = np.linspace(225, 250, width)[None, :, None] + rng.normal(0, 2, (height, width, 3))
    picture = Image.fromarray(np.clip(shade, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    size = max(14, min(width // 18, height // 6))
    for row, line in enumerate(LINES):
        top = int((row + 0.5) * height / len(LINES) - size / 2)
        draw.text((width // 20, top), line, fill=(20, 20, 40 + 30 * row),
                  font=ImageFont.load_default(size))
    return np.asarray(picture)


def text_line(text, height, width=None, upside_down=False):
    """One line of dark text on a light ground, uint8 [height, width, 3]; as wide as the text if no width is given."""
    font = ImageFont.load_default(int(height * 0.72))
    picture = Image.new("RGB", (width or int(font.getlength(text)) + height, height), (238, 236, 230))
    ImageDraw.Draw(picture).text((height // 3, height // 12), text, fill=(25, 25, 30), font=font)
    return np.asarray(picture.rotate(180) if upside_down else picture)


def planar(picture, mean=0.5, std=0.5):
    """uint8 [H, W, C] to float32 [1, C, H, W], scaled to the unit range and normalised."""
    scaled = (picture.astype(np.float32) / 255 - np.float32(mean)) / np.float32(std)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None], dtype=np.float32)


def resonator(signal, frequency, bandwidth, rate):
    """A second-order resonance, as one formant of a voice."""
    r = np.exp(-np.pi * bandwidth / rate)
    a1, a2 = 2 * r * np.cos(2 * np.pi * frequency / rate), -r * r
    out = np.zeros_like(signal)
    y1 = y2 = 0.0
    for i, x in enumerate(signal):
        y1, y2 = x + a1 * y1 + a2 * y2, y1
        out[i] = y1
    return out


def voice(seconds, rate, seed=0):
    """Half a second of room noise, then vowels of a gliding pitch, float32 within [-1, 1]."""
    rng = np.random.default_rng(seed)
    count = int(seconds * rate)
    time = np.arange(count) / rate
    pitch = 120 + 25 * np.sin(2 * np.pi * 2.3 * time) + rng.normal(0, 1.5, count)
    phase = np.cumsum(pitch / rate)
    pulses = np.diff(np.floor(phase), prepend=0) + rng.normal(0, 0.01, count)
    vowels = [(730, 1090, 2440), (270, 2290, 3010), (570, 840, 2410)]
    sound = np.zeros(count)
    for number, formants in enumerate(vowels):
        part = sum(resonator(pulses, f, 90, rate) / (1 + k) for k, f in enumerate(formants) if f < rate / 2)
        sound += part * np.clip(np.sin(2 * np.pi * (1.3 * time - number / 3)), 0, 1)
    sound[: rate // 2] = 0
    sound = 0.4 * sound / np.abs(sound).max() + rng.normal(0, 0.002, count)
    return sound.astype(np.float32)


def chords(samples, rate, seed=0):
    """Struck strings playing three chords, float32."""
    rng = np.random.default_rng(seed)
    sound = np.zeros(samples)
    starts = np.linspace(0, samples * 0.7, 3).astype(int)
    for start, notes in zip(starts, [(60, 64, 67), (57, 60, 64), (65, 69, 72)]):
        time = np.arange(samples - start) / rate
        for note in notes:
            base = 440 * 2 ** ((note - 69) / 12)
            for harmonic in range(1, 6):
                sound[start:] += np.sin(2 * np.pi * base * harmonic * time) * np.exp(-2.5 * time) / harmonic ** 1.5
    return (0.3 * sound / np.abs(sound).max() + rng.normal(0, 1e-3, samples)).astype(np.float32)


def brain_waves(seconds, rate, seed=0):
    """1/f noise with an alpha rhythm and, in the second half, 3 Hz spikes and waves."""
    rng = np.random.default_rng(seed)
    count = int(seconds * rate)
    spectrum = np.fft.rfft(rng.normal(size=count))
    frequency = np.fft.rfftfreq(count, 1 / rate)
    background = np.fft.irfft(spectrum / np.sqrt(np.maximum(frequency, 0.5)), count)
    time = np.arange(count) / rate
    cycle = (time * 3) % 1
    seizure = np.exp(-((cycle - 0.2) / 0.03) ** 2) * 6 - np.sin(2 * np.pi * cycle) * 2
    seizure[time < seconds / 2] = 0
    return background / background.std() + 0.4 * np.sin(2 * np.pi * 10 * time) + seizure


def spectrogram(signal, rate, bins=100):
    """Normalised log power of one-second windows every half second, float32 [bins, columns]."""
    hop = rate // 2
    columns = (len(signal) - rate) // hop + 1
    window = np.hanning(rate)
    frames = np.stack([signal[c * hop: c * hop + rate] * window for c in range(columns)], 1)
    power = np.log(np.abs(np.fft.rfft(frames, axis=0)[:bins]) ** 2 + 1e-9)
    return ((power - power.mean()) / power.std()).astype(np.float32)


# The word pieces (BERT's uncased vocabulary) of the sentences below.
PIECES = {"[CLS]": 101, "[SEP]": 102, ".": 1012, "a": 1037, "an": 2019, "the": 1996, "this": 2023, "is": 2003,
          "of": 1997, "each": 2169, "man": 2158, "woman": 2450, "eating": 5983, "food": 2833, "piece": 3538,
          "bread": 7852, "riding": 5559, "horse": 3586, "example": 2742, "sentence": 6251, "converted": 4991,
          "playing": 2652, "guitar": 2858}
SENTENCES = ["a man is eating food .", "a man is eating a piece of bread .", "a woman is playing the guitar .",
             "this is an example sentence", "each sentence is converted", "a man is riding a horse ."]


def tokens(sentences):
    """input_ids, attention_mask and token_type_ids, padded to the longest sentence."""
    rows = [[PIECES[word] for word in f"[CLS] {sentence} [SEP]".split()] for sentence in sentences]
    length = max(map(len, rows))
    ids = np.array([row + [0] * (length - len(row)) for row in rows], dtype=np.int64)
    return {"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64), "token_type_ids": np.zeros_like(ids)}
