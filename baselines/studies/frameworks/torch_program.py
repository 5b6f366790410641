#!/usr/bin/env python3
"""PyTorch: ResNet-50 or an LSTM on random data, in inference or training."""
import steps

options = steps.arguments(__doc__)

import torch  # noqa: E402  (after the arguments: it takes seconds)
from torch import nn  # noqa: E402


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.path = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.short = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

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


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(options.inputs, options.hidden)
        self.last = nn.Linear(options.hidden, 128)

    def forward(self, x):
        return self.last(self.lstm(x)[0][-1])


torch.manual_seed(1)
if options.model == "resnet50":
    model, x, classes = resnet50(), torch.randn(options.batch, 3, options.size, options.size), 1000
    if options.channels_last:
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
else:
    model, x, classes = Lstm(), torch.randn(options.time_steps, options.batch, options.inputs), 128
y = torch.randint(0, classes, (options.batch,))

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
