"""The models that scripts/bench measures, by class: the rows of docs/performance.md, in their order."""

# By what most of their time goes into; small: too short a run for any of it.
CLASSES = {
    "convolution": ["resnet50", "resnext101_32x8d", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny",
                    "rapidocr-det", "ddddocr-det", "basic-pitch"],
    "transformer": ["bert-base", "bert-base-b8", "gpt2", "vit_b_16", "mixer_b16_224", "distilbert",
                    "t5-small-encoder", "minilm-int8"],
    "recurrent": ["lstm-tagger", "silero-vad"],
    "small": ["sincos-16m", "rapidocr-cls", "rapidocr-rec", "seizure-a"]}
MODELS = [model for models in CLASSES.values() for model in models]
