"""Small PyTorch programs, each a function that returns how many iterations of its loop it has run: the count against which
dlroof's number of steps is checked."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.mkldnn import to_mkldnn


def convolutions(channels, classes=10):
    """A network of `channels`, strided convolutions, and a classifier."""
    layers, before = [], 3
    for i, width in enumerate(channels):
        layers += [nn.Conv2d(before, width, 3, stride=1 + i % 2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


def images(batch=2, size=32):
    return torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,))


def train(net, batches, accumulate=1, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(net.parameters(), lr=1e-3)
    count = 0
    for x, y in batches:
        (F.cross_entropy(net(x), y) / accumulate).backward()
        count += 1
        if count % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    return count


def infer(net, x, steps):
    net.eval()
    with torch.no_grad():
        for _ in range(steps):
            net(x)
    return steps


def cnn_inference():
    return infer(convolutions([8, 16, 24]), images()[0], 14)


def cnn_training():
    return train(convolutions([8, 16, 24]), [images() for _ in range(12)])


def accumulation():
    return train(convolutions([8, 16]), [images() for _ in range(16)], accumulate=4)


def evaluation_between():
    net, count = convolutions([8, 16]), 0
    for _ in range(4):
        net.train()
        count += train(net, [images() for _ in range(6)])
        infer(net, images()[0], 3)
    return count


def last_batch_smaller():
    net, count = convolutions([8, 16]), 0
    for _ in range(3):
        count += train(net, [images(batch=6) for _ in range(6)] + [images(batch=4)])
    return count


class Filtered(Dataset):
    """Images that the worker filters with a convolution: lines of oneDNN from other processes."""

    def __init__(self, count):
        self.count, self.kernel = count, torch.ones(3, 3, 5, 5) / 75

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return F.conv2d(torch.randn(1, 3, 40, 40), self.kernel, padding=2)[0], i % 10


def workers_with_convolutions():
    return train(convolutions([8, 16]), DataLoader(Filtered(24), batch_size=2, num_workers=2))


def two_equal_layers():
    body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
    return infer(nn.Sequential(nn.Conv2d(3, 8, 1), body), images()[0], 10)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        return F.relu(x + self.b(F.relu(self.a(x))))


def equal_blocks_inference():
    return infer(nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), *[Residual(12) for _ in range(8)]), images()[0], 9)


def equal_blocks_alone():
    """Eight equal blocks and nothing else: no primitive occurs once in a step."""
    return infer(nn.Sequential(*[Residual(12) for _ in range(8)]), torch.randn(2, 12, 16, 16), 9)


def equal_blocks_training():
    net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), *[Residual(12) for _ in range(6)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 10))
    return train(net, [images() for _ in range(8)])


class Recurrent(nn.Module):
    def __init__(self, layers=1):
        super().__init__()
        self.lstm, self.last = nn.LSTM(16, 24, num_layers=layers), nn.Linear(24, 10)

    def forward(self, x):
        return self.last(self.lstm(x)[0][-1])


def lstm_inference():
    return infer(Recurrent(), torch.randn(12, 4, 16), 15)


def lstm_training():
    return train(Recurrent(2), [(torch.randn(12, 4, 16), torch.randint(0, 10, (4,))) for _ in range(11)])


def transformer_inference():
    """Only the activations of its equal layers are oneDNN's."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
    return infer(nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(2, 16, 32), 8)


class Vision(nn.Module):
    """A vision transformer: a convolution cuts patches, then equal layers."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 32, 8, stride=8)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu", dropout=0)
        self.layers, self.last = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(32, 10)

    def forward(self, x):
        return self.last(self.layers(self.patch(x).flatten(2).transpose(1, 2)).mean(1))


def vision_transformer_inference():
    return infer(Vision(), images()[0], 10)


def vision_transformer_training():
    return train(Vision(), [images() for _ in range(9)])


def generator_and_critic():
    generator = nn.Sequential(nn.ConvTranspose2d(8, 16, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1))
    critic = convolutions([8, 12], classes=1)
    first, second = (torch.optim.SGD(net.parameters(), lr=1e-3) for net in (generator, critic))
    for _ in range(10):
        fake = generator(torch.randn(2, 8, 16, 16))
        second.zero_grad()
        (critic(fake.detach()).mean() - critic(images()[0]).mean()).backward()
        second.step()
        first.zero_grad()
        critic(fake).mean().neg().backward()
        first.step()
    return 10


def checkpointed():
    from torch.utils.checkpoint import checkpoint

    blocks = nn.ModuleList([Residual(8) for _ in range(3)])
    first, last = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 10)
    count = 0
    for _ in range(9):
        x, y = images()
        x = first(x)
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False)
        F.cross_entropy(last(x.mean((2, 3))), y).backward()
        count += 1
    return count


def encoder_and_decoder():
    """One encoding, then twelve equal steps of a decoder: a step is a sentence."""
    encoder, decoder = nn.LSTM(16, 24).eval(), nn.LSTM(24, 24).eval()
    with torch.no_grad():
        for _ in range(9):
            x, state = encoder(torch.randn(10, 2, 16))
            x = x[-1:]
            for _ in range(12):
                x, state = decoder(x, state)
    return 9


def teacher_and_student():
    teacher, student = convolutions([16, 24]).eval(), convolutions([8, 16])
    optimizer, count = torch.optim.Adam(student.parameters()), 0
    for _ in range(10):
        x, _ = images()
        with torch.no_grad():
            wanted = teacher(x)
        optimizer.zero_grad()
        F.mse_loss(student(x), wanted).backward()
        optimizer.step()
        count += 1
    return count


def packed_products():
    """Six equal layers of oneDNN's own tensors, and a last one."""
    net = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), nn.ReLU()) for _ in range(6)], nn.Linear(32, 10)).eval()
    packed = to_mkldnn(net)
    with torch.no_grad():
        for _ in range(12):
            packed(torch.randn(8, 32).to_mkldnn()).to_dense()
    return 12


def two_threads():
    import threading

    nets = [convolutions([8, 16, 24]).eval() for _ in range(2)]
    threads = [threading.Thread(target=infer, args=(net, images()[0], 10)) for net in nets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 20


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if f.__name__ not in ("convolutions", "images", "train", "infer") and not isinstance(f, type)}
