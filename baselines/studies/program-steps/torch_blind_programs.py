"""PyTorch programs that the finder of steps was not tuned on. As in torch_programs.py each returns how many iterations it has run."""
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from torch_programs import convolutions, images, infer, train


def mobile_inference():
    return infer(torchvision.models.mobilenet_v3_small(num_classes=10), images(size=64)[0], 9)


def dense_inference():
    return infer(torchvision.models.DenseNet(8, (2, 2, 2), 16, num_classes=10), images(size=64)[0], 8)


def shuffle_training():
    return train(torchvision.models.shufflenet_v2_x0_5(num_classes=10), [images(size=64) for _ in range(7)])


def squeeze_inference():
    return infer(torchvision.models.squeezenet1_1(num_classes=10), images(size=64)[0], 12)


def residual_training():
    return train(torchvision.models.resnet18(num_classes=10), [images(size=64) for _ in range(6)])


class Encoder(nn.Module):
    """A U-Net of two levels."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, stride=2, padding=1)])
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.up, self.last = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 1, 1)

    def forward(self, x):
        first = F.relu(self.down[0](x))
        x = F.relu(self.up(F.relu(self.middle(F.relu(self.down[1](first))))))
        return self.last(torch.cat([first, x], 1))


def segmentation_training():
    net = Encoder()
    optimizer, count = torch.optim.Adam(net.parameters()), 0
    for _ in range(11):
        optimizer.zero_grad()
        net(images()[0]).square().mean().backward()
        optimizer.step()
        count += 1
    return count


def pairs_training():
    """The network sees two images before its gradients."""
    net = convolutions([8, 16])
    optimizer, count = torch.optim.SGD(net.parameters(), 1e-3), 0
    for _ in range(9):
        optimizer.zero_grad()
        F.mse_loss(net(images()[0]), net(images()[0])).backward()
        optimizer.step()
        count += 1
    return count


def early_exit():
    """Every image leaves after the first or the second half, by chance."""
    torch.manual_seed(5)
    first, second = convolutions([8, 16])[:6].eval(), nn.Sequential(nn.Conv2d(16, 24, 3), nn.Conv2d(24, 8, 1)).eval()
    with torch.no_grad():
        for _ in range(20):
            x = first(images()[0])
            if torch.rand(1) < 0.5:
                second(x)
    return 20


def alternating_sizes():
    """Images of 32 and of 48 pixels in turn."""
    net = convolutions([8, 16]).eval()
    with torch.no_grad():
        for i in range(16):
            net(images(size=32 + 16 * (i % 2))[0])
    return 16


def sequences_of_any_length():
    torch.manual_seed(6)
    net, last = nn.LSTM(16, 24), nn.Linear(24, 10)
    optimizer, count = torch.optim.SGD([*net.parameters(), *last.parameters()], 1e-3), 0
    for _ in range(18):
        x = torch.randn(int(torch.randint(4, 12, (1,))), 4, 16)
        optimizer.zero_grad()
        last(net(x)[0][-1]).square().mean().backward()
        optimizer.step()
        count += 1
    return count


def both_directions():
    net = nn.LSTM(16, 24, num_layers=2, bidirectional=True).eval()
    return infer(net, torch.randn(10, 4, 16), 13)


def text_convolutions():
    net = nn.ModuleList([nn.Conv1d(16, 12, width) for width in (3, 4, 5)]).eval()
    with torch.no_grad():
        for _ in range(12):
            x = torch.randn(4, 16, 30)
            torch.cat([F.relu(one(x)).amax(2) for one in net], 1)
    return 12


def volumes_training():
    net = nn.Sequential(nn.Conv3d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv3d(6, 6, 3, stride=2), nn.Flatten(), nn.LazyLinear(4))
    optimizer, count = None, 0
    for _ in range(8):
        out = net(torch.randn(2, 1, 8, 16, 16))
        optimizer = optimizer or torch.optim.SGD(net.parameters(), 1e-3)
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()
        count += 1
    return count


def accumulation_with_evaluation():
    net, count = convolutions([8, 16]), 0
    for _ in range(3):
        net.train()
        count += train(net, [images() for _ in range(6)], accumulate=3)
        infer(net, images(batch=4)[0], 2)
    return count


def frozen_body():
    """Only the last layer is trained: no gradient passes a convolution."""
    net = convolutions([8, 16])
    for parameter in net[:-1].parameters():
        parameter.requires_grad = False
    return train(net, [images() for _ in range(10)], optimizer=torch.optim.SGD(net[-1].parameters(), 1e-3))


def four_steps_only():
    return train(convolutions([8, 16, 24]), [images() for _ in range(4)])


def image_then_words():
    """Captions: one image, then a word at a time until one of 3 to 6 words is the last."""
    torch.manual_seed(8)
    net, words = convolutions([8, 16]).eval(), nn.LSTM(10, 16).eval()
    with torch.no_grad():
        for _ in range(12):
            x, state = net(images(batch=1)[0])[None], None
            for _ in range(int(torch.randint(3, 7, (1,)))):
                out, state = words(x, state)
    return 12


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if not isinstance(f, type)}
