"""PyTorch programs of a third blind test, most of them ordinary scripts. As in torch_programs.py each returns how many iterations of
its own loop it has run: batches of training where it trains (without those of validation), else batches or calls of inference."""
import copy
import io
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from torch_programs import convolutions, images


def loader(count, batch, size=32, **options):
    """Batches of images and their classes."""
    return DataLoader(TensorDataset(*images(count, size)), batch, **options)


def accuracy(net, batches):
    net.eval()
    with torch.no_grad():
        right = [(net(x).argmax(1) == y).float().mean() for x, y in batches]
    net.train()
    return torch.stack(right).mean().item()


def vgg_epochs():
    """Four epochs of six batches, the last of 4 images. Each ends with three batches of validation, and the best network is saved."""
    body = [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    body += [nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    net = nn.Sequential(*body, nn.Flatten(), nn.Linear(1024, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(net.parameters(), 1e-2, momentum=0.9, weight_decay=5e-4)
    training, validation = loader(44, 8, shuffle=True), loader(24, 8)
    best, count = -1, 0
    for _ in range(4):
        for x, y in training:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            count += 1
        reached = accuracy(net, validation)
        if reached > best:
            best = reached
            torch.save(net.state_dict(), io.BytesIO())
    return count


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        layers = [nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        layers += [nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
        equal = stride == 1 and before == 4 * width
        self.short = nn.Identity() if equal else nn.Sequential(nn.Conv2d(before, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def bottleneck_training():
    """A warm-up, then a cosine schedule. The last 6 of 70 images are dropped in each of three epochs; no validation."""
    blocks = [Bottleneck(8, 8, 1), Bottleneck(32, 8, 1), Bottleneck(32, 16, 2), Bottleneck(64, 16, 1)]
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True)
    warm, cosine = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=3), torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 9)
    schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, cosine], [3])
    training, count = loader(70, 16, shuffle=True, drop_last=True), 0
    for _ in range(3):
        for x, y in training:
            loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            count += 1
    return count


def mixed_precision_epochs():
    """Three epochs of seven batches in bfloat16. The optimizer steps after every second batch and at the end of an epoch; then validation."""
    net = convolutions([8, 16, 24])
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    training, validation = loader(56, 8, shuffle=True), loader(32, 16)
    count = 0
    for _ in range(3):
        for i, (x, y) in enumerate(training):
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(net(x), y) / 2
            loss.backward()
            count += 1
            if i % 2 == 1 or i + 1 == len(training):
                optimizer.step()
                optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            accuracy(net, validation)
    return count


class Reviews(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm = nn.Embedding(200, 16), nn.LSTM(16, 24, batch_first=True, bidirectional=True)
        self.last = nn.Linear(48, 2)

    def forward(self, x):
        return self.last(self.lstm(self.words(x))[0].mean(1))


def review_classifier():
    """Two epochs of eight batches, the last of 4 reviews, each followed by two larger batches of validation."""
    net = Reviews()
    optimizer, count = torch.optim.Adam(net.parameters()), 0
    training = DataLoader(TensorDataset(torch.randint(0, 200, (60, 20)), torch.randint(0, 2, (60,))), 8, shuffle=True)
    validation = DataLoader(TensorDataset(torch.randint(0, 200, (32, 20)), torch.randint(0, 2, (32,))), 16)
    for _ in range(2):
        for x, y in training:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            count += 1
        accuracy(net, validation)
    return count


def character_model():
    """Three epochs of ten batches. After each, a text of 15 characters is written, one at a time."""
    words, net, last = nn.Embedding(40, 16), nn.LSTM(16, 32, num_layers=2), nn.Linear(32, 40)
    optimizer, count = torch.optim.RMSprop([*words.parameters(), *net.parameters(), *last.parameters()], 1e-3), 0
    text = torch.randint(0, 40, (2000,))
    for _ in range(3):
        for _ in range(10):
            start = torch.randint(0, 1900, (8,))
            x = torch.stack([text[i : i + 21] for i in start], 1)
            optimizer.zero_grad()
            loss = F.cross_entropy(last(net(words(x[:-1]))[0]).flatten(0, 1), x[1:].flatten())
            loss.backward()
            optimizer.step()
            count += 1
        with torch.no_grad():
            character, state = text[:1, None], None
            for _ in range(15):
                out, state = net(words(character), state)
                character = torch.multinomial(last(out[0]).softmax(1), 1)
    return count


class Next(nn.Module):
    """A block of ConvNeXt."""

    def __init__(self, width):
        super().__init__()
        self.wide, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.down(F.gelu(self.up(self.norm(self.wide(x).permute(0, 2, 3, 1)))))
        return x + y.permute(0, 3, 1, 2)


def convnext_inference():
    """A test set of 94 images: eleven batches of 8, and one of 6."""
    body = [nn.Conv2d(3, 16, 4, stride=4), Next(16), Next(16), nn.Conv2d(16, 32, 2, stride=2), Next(32), Next(32), Next(32)]
    net, found, count = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).eval(), [], 0
    with torch.inference_mode():
        for x, _ in loader(94, 8, size=64):
            found.append(net(x).argmax(1))
            count += 1
    return count


class Tagger(nn.Module):
    """A small BERT: a class for every word."""

    def __init__(self, width=64):
        super().__init__()
        self.words, self.places = nn.Embedding(300, width), nn.Embedding(24, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.1, activation="gelu", batch_first=True)
        self.layers, self.last = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), nn.Linear(width, 9)

    def forward(self, x):
        return self.last(self.layers(self.words(x) + self.places(torch.arange(x.shape[1])))).transpose(1, 2)


def token_tagging():
    """Fine-tuning in bfloat16: three epochs of six batches, with two batches of validation after each."""
    net = Tagger()
    optimizer = torch.optim.AdamW(net.parameters(), 5e-5, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1, (i + 1) / 4) * (1 - i / 18))
    training = DataLoader(TensorDataset(torch.randint(0, 300, (48, 24)), torch.randint(0, 9, (48, 24))), 8, shuffle=True)
    validation = DataLoader(TensorDataset(torch.randint(0, 300, (32, 24)), torch.randint(0, 9, (32, 24))), 16)
    count = 0
    for _ in range(3):
        for x, y in training:
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            count += 1
        with torch.autocast("cpu", torch.bfloat16):
            accuracy(net, validation)
    return count


class Causal(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.words, self.first, self.last = nn.Embedding(65, width), nn.LayerNorm(width), nn.Linear(width, 65, bias=False)
        shapes = {"in": (width, 3 * width), "out": (width, width), "up": (width, 4 * width), "down": (4 * width, width)}
        self.blocks = nn.ModuleList([nn.ModuleDict({name: nn.Linear(*shape) for name, shape in shapes.items()}) for _ in range(4)])

    def forward(self, words):
        x = self.first(self.words(words))
        for block in self.blocks:
            q, k, v = (part.unflatten(2, (3, -1)).transpose(1, 2) for part in block["in"](x).chunk(3, 2))
            x = x + block["out"](F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            x = x + block["down"](F.gelu(block["up"](x)))
        return self.last(x)


def small_gpt():
    """Twenty iterations in bfloat16. Before every fifth one the loss is estimated with three batches of training and three of validation."""
    net = Causal()
    optimizer, text = torch.optim.AdamW(net.parameters(), 1e-3, betas=(0.9, 0.95)), torch.randint(0, 65, (3000,))

    def loss(part):
        start = torch.randint(0, len(part) - 33, (6,))
        x = torch.stack([part[i : i + 33] for i in start])
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    count = 0
    for i in range(20):
        if i % 5 == 0:
            with torch.no_grad():
                for part in (text[:2500], text[2500:]):
                    torch.stack([loss(part) for _ in range(3)]).mean().item()
        value = loss(text[:2500])
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        optimizer.step()
        count += 1
    return count


class Inception(nn.Module):
    def __init__(self, before):
        super().__init__()
        self.one, self.pooled = nn.Conv2d(before, 8, 1), nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(before, 4, 1))
        self.three = nn.Sequential(nn.Conv2d(before, 8, 1), nn.ReLU(), nn.Conv2d(8, 12, 3, padding=1))
        self.five = nn.Sequential(nn.Conv2d(before, 4, 1), nn.ReLU(), nn.Conv2d(4, 8, 5, padding=2))

    def forward(self, x):
        return F.relu(torch.cat([self.one(x), self.three(x), self.five(x), self.pooled(x)], 1))


def timed_inference():
    """A user's own benchmark: three calls to warm up and twelve that are timed. An iteration is a call, those of the warm-up as well."""
    first = [nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    body = [Inception(16), Inception(32), nn.MaxPool2d(2), Inception(32)]
    net = nn.Sequential(*first, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).eval()
    x, times, count = images(16, 64)[0], [], 0
    with torch.no_grad():
        for _ in range(3):
            net(x)
            count += 1
        for _ in range(12):
            start = time.perf_counter()
            net(x)
            times.append(time.perf_counter() - start)
            count += 1
    return count


def denoiser_training():
    """DnCNN: three epochs of six batches of gray images, the loss printed, no validation."""
    middle = [layer for _ in range(4) for layer in (nn.Conv2d(12, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU())]
    net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), *middle, nn.Conv2d(12, 1, 3, padding=1))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    schedule, count = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2], 0.1), 0
    for _ in range(3):
        for (x,) in DataLoader(TensorDataset(torch.rand(50, 1, 40, 40)), 8, shuffle=True, drop_last=True):
            noise = 0.1 * torch.randn_like(x)
            optimizer.zero_grad()
            F.mse_loss(net(x + noise), noise).backward()
            optimizer.step()
            count += 1
        schedule.step()
    return count


def super_resolution():
    """Two epochs of eight batches of small patches; after each, two whole images of different sizes, one at a time."""
    body = [nn.Conv2d(1, 16, 5, padding=2), nn.Tanh(), nn.Conv2d(16, 12, 3, padding=1), nn.Tanh(), nn.Conv2d(12, 9, 3, padding=1)]
    net, count = nn.Sequential(*body, nn.PixelShuffle(3)), 0
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    whole = [torch.rand(1, 1, 60, 90), torch.rand(1, 1, 72, 72)]
    for _ in range(2):
        for x, y in DataLoader(TensorDataset(torch.rand(128, 1, 17, 17), torch.rand(128, 1, 51, 51)), 16, shuffle=True):
            loss = F.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1
        with torch.no_grad():
            for image in whole:
                net(image).clamp(0, 1)
    return count


class Volumes(nn.Module):
    """A U-Net of volumes."""

    def __init__(self):
        super().__init__()
        self.first, self.down = self.pair(1, 6), self.pair(6, 12)
        self.up, self.second, self.last = nn.ConvTranspose3d(12, 6, 2, stride=2), self.pair(12, 6), nn.Conv3d(6, 2, 1)

    @staticmethod
    def pair(before, width):
        layers = [layer for one in (before, width) for layer in (nn.Conv3d(one, width, 3, padding=1), nn.InstanceNorm3d(width), nn.LeakyReLU())]
        return nn.Sequential(*layers)

    def forward(self, x):
        first = self.first(x)
        return self.last(self.second(torch.cat([first, self.up(self.down(F.max_pool3d(first, 2)))], 1)))


def volumes_segmentation():
    """Three epochs of five batches of two patches, each with two larger volumes of validation at its end."""
    net = Volumes()
    optimizer, count = torch.optim.SGD(net.parameters(), 1e-2, momentum=0.99, nesterov=True), 0
    for _ in range(3):
        for _ in range(5):
            x, y = torch.randn(2, 1, 16, 16, 16), torch.randint(0, 2, (2, 16, 16, 16))
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            count += 1
        net.eval()
        with torch.no_grad():
            for _ in range(2):
                net(torch.randn(1, 1, 24, 32, 32)).argmax(1)
        net.train()
    return count


def triplet_training():
    """A network sees an anchor, a like and an unlike image. After every tenth iteration it embeds a gallery of two batches."""
    body = [nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    net, count = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 8)), 0
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(20):
        anchor, like, unlike = (net(images(6, 40)[0]) for _ in range(3))
        optimizer.zero_grad()
        F.triplet_margin_loss(anchor, like, unlike).backward()
        optimizer.step()
        count += 1
        if count % 10 == 0:
            with torch.no_grad():
                torch.cdist(*(net(images(16, 40)[0]) for _ in range(2))).argmin(1)
    return count


def momentum_contrast():
    """Two views of each image: one for the network, one for a slow copy of it, without gradients. Three epochs of five batches."""
    net = convolutions([8, 16], classes=16)
    slow, queue, count = copy.deepcopy(net), F.normalize(torch.randn(32, 16)), 0
    optimizer = torch.optim.SGD(net.parameters(), 0.03, momentum=0.9)
    for _ in range(3):
        for x, _ in loader(42, 8, shuffle=True, drop_last=True):
            one = F.normalize(net(x.flip(3)))
            with torch.no_grad():
                for parameter, other in zip(slow.parameters(), net.parameters()):
                    parameter.lerp_(other, 0.01)
                two = F.normalize(slow(x + 0.1 * torch.randn_like(x)))
            scores = torch.cat([(one * two).sum(1, keepdim=True), one @ queue.T], 1) / 0.07
            optimizer.zero_grad()
            F.cross_entropy(scores, torch.zeros(len(x), dtype=torch.long)).backward()
            optimizer.step()
            queue = torch.cat([queue[len(x) :], two])
            count += 1
    return count


def style_transfer():
    """An iteration is a change of the image. The features of the content and of the style are computed once, before."""
    parts = [nn.Sequential(nn.Conv2d(before, width, 3, padding=1), nn.ReLU()) for before, width in ((3, 8), (8, 16), (16, 16))]
    for parameter in nn.ModuleList(parts).parameters():
        parameter.requires_grad = False

    def features(x):
        outs = []
        for part in parts:
            x = part(x)
            outs.append(x)
        return outs

    def gram(x):
        return x.flatten(2)[0] @ x.flatten(2)[0].T / x.numel()

    content, style = torch.rand(1, 3, 96, 96), torch.rand(1, 3, 96, 96)
    wanted, styles = features(content)[1], [gram(one) for one in features(style)]
    image = content.clone().requires_grad_()
    optimizer, count = torch.optim.Adam([image], 0.02), 0
    for _ in range(24):
        outs = features(image)
        loss = F.mse_loss(outs[1], wanted) + 1e3 * sum(F.mse_loss(gram(one), other) for one, other in zip(outs, styles))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += 1
    return count


def teacher_forcing():
    """By chance the decoder sees the right sentence at once, or its own words one by one. After each of two epochs, two translations."""
    torch.manual_seed(31)
    words, encoder, decoder, last = nn.Embedding(60, 16), nn.LSTM(16, 24), nn.LSTM(16, 24), nn.Linear(24, 60)
    optimizer, count = torch.optim.Adam([one for part in (words, encoder, decoder, last) for one in part.parameters()]), 0

    def translate(x, length):
        _, state = encoder(words(x))
        word, outs = torch.zeros(1, x.shape[1], dtype=torch.long), []
        for _ in range(length):
            out, state = decoder(words(word), state)
            outs.append(last(out))
            word = outs[-1].argmax(2)
        return torch.cat(outs)

    for _ in range(2):
        for _ in range(9):
            x, y = torch.randint(0, 60, (10, 6)), torch.randint(0, 60, (8, 6))
            if torch.rand(1) < 0.5:
                out = last(decoder(words(torch.cat([y[:1] * 0, y[:-1]])), encoder(words(x))[1])[0])
            else:
                out = translate(x, 8)
            optimizer.zero_grad()
            F.cross_entropy(out.flatten(0, 1), y.flatten()).backward()
            optimizer.step()
            count += 1
        with torch.no_grad():
            for _ in range(2):
                translate(torch.randint(0, 60, (10, 2)), 8)
    return count


def alternating_tasks():
    """One body, two heads: in turn a batch of images with classes and one of images with masks. An iteration is a batch of either."""
    body = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 16, 3, stride=2, padding=1), nn.ReLU())
    classes = nn.Sequential(nn.Conv2d(16, 24, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10))
    masks = nn.Sequential(nn.ConvTranspose2d(16, 8, 2, stride=2), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    optimizer, count = torch.optim.Adam([*body.parameters(), *classes.parameters(), *masks.parameters()]), 0
    for i in range(20):
        optimizer.zero_grad()
        if i % 2 == 0:
            x, y = images(8)
            loss = F.cross_entropy(classes(body(x)), y)
        else:
            x = images(4, 48)[0]
            loss = F.binary_cross_entropy_with_logits(masks(body(x)), (x[:, :1] > 0).float())
        loss.backward()
        optimizer.step()
        count += 1
    return count


def variable_regions():
    """A detector: a body sees two images, then a head sees 4 to 14 regions of their features."""
    torch.manual_seed(32)
    body = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
    proposals = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 5, 1))
    head = nn.Sequential(nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(400, 14))
    optimizer, count = torch.optim.SGD([*body.parameters(), *proposals.parameters(), *head.parameters()], 1e-3), 0
    for _ in range(16):
        features = body(images(size=64)[0])
        regions = []
        for one in features:
            for _ in range(int(torch.randint(2, 8, (1,)))):
                top, left, size = (int(torch.randint(low, high, (1,))) for low, high in ((0, 8), (0, 8), (3, 9)))
                regions.append(F.adaptive_avg_pool2d(one[:, top : top + size, left : left + size], 7))
        loss = proposals(features).square().mean() + head(torch.stack(regions)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += 1
    return count


HELPERS = ("loader", "accuracy")
PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if not isinstance(f, type) and f.__name__ not in HELPERS}
