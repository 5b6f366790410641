"""Sizes of the studied models, for every framework."""
# Of a step: (batch, pixels of a side), (time steps, batch, inputs, hidden, layers), (batch, tokens). On a CPU core one to two seconds.
SIZES = {
    "cpu": {"resnet50": (4, 224), "resnet50_train": (2, 224), "lstm": (64, 8, 256, 512, 2), "bert": (1, 128), "deeplabv3": (1, 192), "small": (4, 16)},
    "cuda": {"resnet50": (32, 224), "resnet50_train": (32, 224), "lstm": (50, 32, 256, 512, 2), "bert": (16, 128), "deeplabv3": (4, 512), "small": (4, 16)},
}
WIDTH, HEADS, WIDE, LAYERS = 768, 12, 3072, 12  # BERT-base
