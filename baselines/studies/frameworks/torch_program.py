#!/usr/bin/env python3
"""PyTorch: ResNet-50, DeepCAM or an LSTM on random data, in inference or training."""
import steps

options = steps.arguments(__doc__)

import torch  # noqa: E402  (after the arguments: it takes seconds)
from torch import nn  # noqa: E402


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.path = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.short = (
            nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        )

    def forward(self, x):
        return torch.relu(self.path(x) + self.short(x))


def resnet50():
    """He et al., CVPR 2016, with the stride in the 3x3 convolutions, as torchvision and keras' successors have it."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, width, stride if block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


class Unit(nn.Module):
    """A bottleneck of ResNet-50 v2: normalized and activated before each convolution."""

    def __init__(self, inputs, width, stride, dilation):
        super().__init__()
        self.before = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU())
        self.path = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, dilation, dilation, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1),
        )
        self.short = nn.Identity() if stride == 1 and inputs == 4 * width else nn.Conv2d(inputs, 4 * width, 1, stride)

    def forward(self, x):
        active = self.before(x)
        return self.path(active) + (x if isinstance(self.short, nn.Identity) else self.short(active))


def convolution(inputs, outputs, filter=3, dilation=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, filter, padding=filter // 2 * dilation, dilation=dilation, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


def twice_as_large():
    return nn.Sequential(nn.ConvTranspose2d(256, 256, 3, 2, 1, 1, bias=False), nn.BatchNorm2d(256), nn.ReLU(inplace=True))


class DeepCam(nn.Module):
    """DeepLabv3+ as in the climate-seg-benchmark: ResNet-50 v2 at output stride 8, five branches, a decoder up to full resolution."""

    def __init__(self):
        super().__init__()
        self.begin = nn.Sequential(nn.Conv2d(16, 64, 7, 2, 3), nn.MaxPool2d(3, 2, 1))
        blocks, inputs = [], 64
        for width, units, stride, dilation in ((64, 3, 1, 1), (128, 4, 2, 1), (256, 6, 1, 2), (512, 3, 1, 4)):
            blocks.append(nn.Sequential(*(Unit(inputs if i == 0 else 4 * width, width, stride if i == 0 else 1, dilation) for i in range(units))))
            inputs = 4 * width
        self.low, self.high = blocks[0], nn.Sequential(*blocks[1:], nn.BatchNorm2d(inputs), nn.ReLU(inplace=True))
        self.branches = nn.ModuleList([convolution(inputs, 256, 1), *(convolution(inputs, 256, 3, rate) for rate in (12, 24, 36))])
        self.whole_image = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(inputs, 256, 1), nn.ReLU(inplace=True))
        self.joined = nn.Sequential(convolution(5 * 256, 256, 1), twice_as_large())
        self.of_low = convolution(256, 48, 1)
        self.up = nn.Sequential(convolution(304, 256), convolution(256, 256), twice_as_large(), twice_as_large())
        self.of_image = nn.Sequential(convolution(16, 64), convolution(64, 128))
        self.last = nn.Sequential(convolution(384, 256), convolution(256, 256), nn.Conv2d(256, 3, 1))

    def forward(self, image):
        low = self.low(self.begin(image))
        high = self.high(low)
        whole = self.whole_image(high).expand(-1, -1, *high.shape[2:])
        high = self.joined(torch.cat([branch(high) for branch in self.branches] + [whole], 1))
        high = self.up(torch.cat([high, self.of_low(low)], 1))
        return self.last(torch.cat([high, self.of_image(image)], 1))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(options.inputs, options.hidden)
        self.last = nn.Linear(options.hidden, 128)

    def forward(self, x):
        return self.last(self.lstm(x)[0][-1])


torch.manual_seed(1)
if options.model == "resnet50":
    model, x, y = resnet50(), torch.randn(options.batch, 3, options.size, options.size), torch.randint(0, 1000, (options.batch,))
elif options.model == "deepcam":
    image = (options.size, options.size * 3 // 2)
    model, x, y = DeepCam(), torch.randn(options.batch, 16, *image), torch.randint(0, 3, (options.batch, *image))
else:
    model, x, y = Lstm(), torch.randn(options.time_steps, options.batch, options.inputs), torch.randint(0, 128, (options.batch,))
if options.channels_last:
    model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)

if options.mode == "inference":
    model.eval()
    with torch.no_grad():
        if options.freeze:
            model = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, x)))
    if options.compile:
        model = torch.compile(model)

    def step():
        with torch.no_grad():
            return model(x).abs().mean()

else:
    model.train()
    loss, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    called = torch.compile(model) if options.compile else model

    def step():
        optimizer.zero_grad()
        error = loss(called(x), y)
        error.backward()
        optimizer.step()
        return error.detach()


steps.run(options, step, {"framework": f"torch {torch.__version__}", "threads": torch.get_num_threads()})
