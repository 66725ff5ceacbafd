"""The architectures tcc is measured on, with seeded weights: what each is, its inputs, its sizes.

ARCHITECTURES maps a name to an Architecture; build() gives the module in eval
mode. Sizes are (batch,) for pictures and (batch, sequence) for text; the first
is the static export's, all are data sets of the dynamic export.
"""
import dataclasses
from typing import Callable

import torch
from torch import nn

PICTURES = [(1,), (3,)]
TEXTS = [(1, 128), (3, 37)]


@dataclasses.dataclass
class Architecture:
    make: Callable[[], nn.Module]
    inputs: Callable[..., dict]   # sizes -> input tensors by name, in the module's order
    sizes: list
    dynamic: dict                 # input name -> {axis: symbol}
    pt2: bool = False
    trace: bool = False           # export the dynamic form by tracing: torch.export fixes its sizes
    only_static: bool = False     # a size to measure at, of an architecture that is there already

    def build(self):
        torch.manual_seed(0)
        module = self.make()
        roughen(module)
        calibrate(module, self.inputs(*self.sizes[-1]))
        return module.eval()


def roughen(module):
    """Moves the parameters that start all alike (biases, norms, layer scales, zeroed heads) apart:
    a compiler must not get away with dropping or folding them."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.numel() > 1 and bool((parameter == parameter.flatten()[0]).all()):
                parameter += torch.randn_like(parameter) * 0.02


def calibrate(module, inputs):
    """Gives batch norms the statistics of real activations and uneven scales, as training does."""
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    for norm in norms:
        norm.momentum = 0.8
        nn.init.uniform_(norm.weight, 0.7, 1.3)
        nn.init.normal_(norm.bias, std=0.1)
    module.train()
    with torch.no_grad():
        for _ in range(3):
            module(*inputs.values())


def picture(batch, channels=3, size=224):
    generator = torch.Generator().manual_seed(1000 + batch)
    return {"image": torch.randn(batch, channels, size, size, generator=generator)}


def text(vocabulary, mask=True):
    def make(batch, length):
        generator = torch.Generator().manual_seed(batch * 1000 + length)
        tokens = {"input_ids": torch.randint(1, vocabulary, (batch, length), generator=generator)}
        if mask:
            # Every row but the first is padded, each by another amount.
            lengths = torch.tensor([length - (7 * row) % length for row in range(batch)])
            tokens["attention_mask"] = (torch.arange(length)[None, :] < lengths[:, None]).long()
        return tokens
    return make


class FirstOutput(nn.Module):
    """A transformers model by position, giving its hidden states alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)[0]


class LstmTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5000, 128)
        self.lstm = nn.LSTM(128, 256, num_layers=2, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(512, 20)

    def forward(self, input_ids):
        return self.tags(self.lstm(self.embedding(input_ids))[0]).log_softmax(-1)


class SinCos(nn.Module):
    def forward(self, x):
        return torch.sin(torch.cos(x))


def torchvision_model(name):
    def make():
        import torchvision
        return getattr(torchvision.models, name)(weights=None)
    return make


def timm_model(name):
    def make():
        import timm
        return timm.create_model(name, pretrained=False)
    return make


def transformer(model, config, **options):
    def make():
        import transformers
        settings = getattr(transformers, config)(**options)
        return FirstOutput(getattr(transformers, model)(settings).eval())
    return make


def of_pictures(make, pt2=False):
    return Architecture(make, picture, PICTURES, {"image": {0: "batch"}}, pt2)


def of_texts(make, vocabulary, pt2=False, mask=True, sizes=TEXTS, **others):
    axes = {0: "batch", 1: "sequence"}
    names = ["input_ids", "attention_mask"] if mask else ["input_ids"]
    return Architecture(make, text(vocabulary, mask), sizes, {name: axes for name in names}, pt2, **others)


def of_rows(make, *row, sizes=((4,), (7,)), pt2=True, **others):
    def inputs(batch):
        generator = torch.Generator().manual_seed(batch)
        return {"x": torch.randn(batch, *row, generator=generator)}
    return Architecture(make, inputs, list(sizes), {"x": {0: "batch"}}, pt2, **others)


ARCHITECTURES = {
    # small ones
    "sincos": of_rows(SinCos, 1000),
    "linear": of_rows(lambda: nn.Linear(10, 2), 10),
    "linear-relu": of_rows(lambda: nn.Sequential(nn.Linear(10, 2), nn.ReLU()), 10),
    "conv-bn-silu": of_rows(
        lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.SiLU()),
        3, 32, 32, sizes=((1,), (2,))),
    # the ones that others wait for first
    "resnet50": of_pictures(torchvision_model("resnet50"), pt2=True),
    "bert-base": of_texts(transformer("BertModel", "BertConfig"), 30522, pt2=True),
    "gpt2": of_texts(transformer("GPT2Model", "GPT2Config", use_cache=False), 50257, pt2=True),
    "vit_b_16": of_pictures(torchvision_model("vit_b_16"), pt2=True),
    "mobilenet_v3_large": of_pictures(torchvision_model("mobilenet_v3_large"), pt2=True),
    "resnext101_32x8d": of_pictures(torchvision_model("resnext101_32x8d")),
    "efficientnet_b0": of_pictures(torchvision_model("efficientnet_b0")),
    "convnext_tiny": of_pictures(torchvision_model("convnext_tiny")),
    "mixer_b16_224": of_pictures(timm_model("mixer_b16_224")),
    # torch's own decomposition of these two's fused attention fails with a dynamic batch.
    "distilbert": of_texts(transformer("DistilBertModel", "DistilBertConfig", attn_implementation="eager"), 30522),
    "t5-small-encoder": of_texts(
        transformer("T5EncoderModel", "T5Config", d_model=512, d_ff=2048, num_layers=6, num_heads=8,
                    attn_implementation="eager"), 32128),
    "lstm-tagger": of_texts(LstmTagger, 5000, mask=False, trace=True),
    # measured at other sizes
    "sincos-16m": of_rows(SinCos, 1 << 20, sizes=((16,),), pt2=False, only_static=True),
    "bert-base-b8": of_texts(transformer("BertModel", "BertConfig"), 30522, sizes=[(8, 128)], only_static=True),
}
