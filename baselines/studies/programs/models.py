"""ResNet-50 (inference, training), an LSTM, BERT-base's encoder and a DeepLabv3 in plain PyTorch, with random weights and data.

build(name, device) returns a model and a function that runs one step of it. On a CPU in f32; on a GPU in f16, images in channels_last.
"""
import torch
from torch import nn

from sizes import HEADS, LAYERS, SIZES, WIDE, WIDTH

NAMES = tuple(SIZES["cpu"])
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # ResNet-50: width, blocks, stride
CLASSES = {"resnet50": 1000, "deeplabv3": 21}


def convolution(inputs, outputs, filter=1, stride=1, dilation=1, active=True):
    layers = [nn.Conv2d(inputs, outputs, filter, stride, filter // 2 * dilation, dilation, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if active else []))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, dilation):
        super().__init__()
        self.path = nn.Sequential(convolution(inputs, width), convolution(width, width, 3, stride, dilation), convolution(width, 4 * width, active=False))
        self.short = nn.Identity() if stride == 1 and inputs == 4 * width else convolution(inputs, 4 * width, 1, stride, active=False)

    def forward(self, x):
        return torch.relu(self.path(x) + self.short(x))


def body(dilated):
    """The convolutions of ResNet-50 (He et al. 2016, strides in the 3x3 ones). `dilated`: of DeepLabv3, whose last two stages keep their size.

    As in torchvision, the first block of a dilated stage has the rate before it.
    """
    layers, inputs, rate = [convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64, 1
    for width, blocks, stride in STAGES:
        first_rate = rate
        if dilated and width >= 256:
            rate, stride = rate * stride, 1
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if block == 0 else 1, first_rate if block == 0 else rate))
            inputs = 4 * width
    return nn.Sequential(*layers)


def resnet50():
    return nn.Sequential(body(False), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, CLASSES["resnet50"]))


class DeepLabV3(nn.Module):
    """Chen et al. 2017 on ResNet-50 at output stride 8: the layers of torchvision's deeplabv3_resnet50 without its auxiliary classifier.

    In the spirit of DeepCAM (Yang et al. 2020), which is a DeepLabv3+ with a decoder on images of 16 channels.
    """

    def __init__(self):
        super().__init__()
        self.body = body(True)
        self.branches = nn.ModuleList([convolution(2048, 256), *(convolution(2048, 256, 3, 1, rate) for rate in (12, 24, 36))])
        self.whole_image = nn.Sequential(nn.AdaptiveAvgPool2d(1), convolution(2048, 256))
        self.joined = nn.Sequential(convolution(5 * 256, 256), convolution(256, 256, 3), nn.Conv2d(256, CLASSES["deeplabv3"], 1))

    def forward(self, image):
        x = self.body(image)
        whole = nn.functional.interpolate(self.whole_image(x), size=x.shape[2:], mode="bilinear")
        x = self.joined(torch.cat([branch(x) for branch in self.branches] + [whole], 1))
        return nn.functional.interpolate(x, size=image.shape[2:], mode="bilinear")


def bert():
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, WIDE, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)


def small():
    """A step of less than a millisecond: what lines cost shows most."""
    return nn.Sequential(*(nn.Conv2d(3 if layer == 0 else 16, 16, 3, padding=1) for layer in range(8)))


def training(model, x, device):
    y = torch.randint(CLASSES["resnet50"], (x.shape[0],), device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def train(called):
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", torch.half, enabled=device == "cuda"):
            loss = nn.functional.cross_entropy(called(x), y)
        loss.backward()
        optimizer.step()

    return train


def build(name, device):
    if name not in NAMES:
        raise SystemExit(f"unknown model {name}: expected one of {', '.join(NAMES)}")
    torch.manual_seed(0)
    size, on_gpu = SIZES[device][name], device == "cuda"
    if name == "lstm":
        steps, batch, inputs, hidden, layers = size
        model, shape = nn.LSTM(inputs, hidden, num_layers=layers), (steps, batch, inputs)
    elif name == "bert":
        model, shape = bert(), (*size, WIDTH)
    else:
        makers = {"deeplabv3": DeepLabV3, "small": small}
        model, shape = makers.get(name, resnet50)(), (size[0], 3, size[1], size[1])
    model, x = model.to(device), torch.randn(*shape, device=device)
    if on_gpu and len(shape) == 4:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if name == "resnet50_train":
        return model, training(model, x, device)
    model = model.eval()
    if on_gpu:
        model, x = model.half(), x.half()

    def infer(called):
        with torch.no_grad():
            called(x)

    return model, infer
