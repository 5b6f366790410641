"""PyTorch programs of a seventh blind test, all of them ordinary scripts. As in torch_programs.py each returns how many iterations of
its own loop it has run: batches of training where it trains (without those of validation), else batches or calls of inference."""
import copy
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

from torch_programs import images


def evaluate(net, batches, loss=F.cross_entropy):
    net.eval()
    with torch.no_grad():
        values = [loss(net(x), y).item() for x, y in batches]
    net.train()
    return sum(values) / len(values)


class Inverted(nn.Module):
    """EfficientNet's block: wider, depthwise, squeezed and excited, narrower."""

    def __init__(self, before, width, stride):
        super().__init__()
        inner, self.same = 3 * before, before == width and stride == 1
        self.wider = nn.Sequential(nn.Conv2d(before, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.SiLU())
        self.deep = nn.Sequential(nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False), nn.BatchNorm2d(inner), nn.SiLU())
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(inner, 8, 1), nn.SiLU(), nn.Conv2d(8, inner, 1), nn.Sigmoid())
        self.narrower = nn.Sequential(nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        y = self.deep(self.wider(x))
        y = self.narrower(y * self.squeeze(y))
        return x + y if self.same else y


def labels_of_x_rays():
    """Several labels for an image, rare ones drawn more often: three epochs of nine batches of 8, the last of 6; after each, the network
    and its moving average both see three batches of validation."""
    body = [Inverted(12, 16, 2), Inverted(16, 16, 1), Inverted(16, 24, 2), Inverted(24, 24, 1)]
    first, last = [nn.Conv2d(1, 12, 3, 2, 1, bias=False), nn.BatchNorm2d(12), nn.SiLU()], [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 6)]
    net, count = nn.Sequential(*first, *body, *last), 0
    mean = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    x, y = torch.rand(90, 1, 56, 56), (torch.rand(90, 6) < 0.2).float()
    sampler = WeightedRandomSampler(1 + y[:70].sum(1), 70)
    training, validation = DataLoader(TensorDataset(x[:70], y[:70]), 8, sampler=sampler), DataLoader(TensorDataset(x[70:], y[70:]), 8)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=27)
    for _ in range(3):
        for image, labels in training:
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(net(image), labels).backward()
            optimizer.step()
            schedule.step()
            mean.update_parameters(net)
            count += 1  # a batch of training
        for one in (net, mean):
            evaluate(one, validation, F.binary_cross_entropy_with_logits)
    return count


class OpticalFlow(nn.Module):
    """Features of both images by one network, their correlation, then the flow in two sizes."""

    def __init__(self):
        super().__init__()
        parts = [nn.Conv2d(3, 16, 5, 2, 2), nn.LeakyReLU(0.1), nn.Conv2d(16, 24, 3, 2, 1), nn.LeakyReLU(0.1), nn.Conv2d(24, 24, 3, 1, 1)]
        self.features, self.own = nn.Sequential(*parts), nn.Conv2d(24, 16, 1)
        self.coarse = nn.Sequential(nn.Conv2d(25 + 16, 32, 3, 1, 1), nn.LeakyReLU(0.1), nn.Conv2d(32, 2, 3, 1, 1))
        self.fine = nn.Sequential(nn.Conv2d(5, 16, 3, 1, 1), nn.LeakyReLU(0.1), nn.Conv2d(16, 2, 3, 1, 1))

    def forward(self, one, two):
        a, b = self.features(one), self.features(two)
        around = F.pad(b, (2, 2, 2, 2))
        height, width = a.shape[2:]
        near = [(a * around[:, :, i : i + height, j : j + width]).mean(1, True) for i in range(5) for j in range(5)]
        coarse = self.coarse(torch.cat([F.leaky_relu(torch.cat(near, 1), 0.1), self.own(a)], 1))
        larger = F.interpolate(coarse, scale_factor=4, mode="bilinear")
        return coarse, larger + self.fine(torch.cat([one, larger], 1))


def optical_flow():
    """36 iterations with pairs of crops from an endless loader; after every twelfth, four pairs of larger images, one at a time."""
    net, count = OpticalFlow(), 0
    optimizer = torch.optim.AdamW(net.parameters(), 4e-4)
    training = DataLoader(TensorDataset(torch.rand(40, 3, 48, 64), torch.rand(40, 3, 48, 64), torch.randn(40, 2, 48, 64)), 4, shuffle=True)
    held = [(torch.rand(1, 3, 64, 96), torch.rand(1, 3, 64, 96), torch.randn(1, 2, 64, 96)) for _ in range(4)]
    while count < 36:
        for one, two, flow in training:
            coarse, fine = net(one, two)
            loss = (fine - flow).abs().mean() + 0.5 * (coarse - F.avg_pool2d(flow, 4)).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            count += 1  # an iteration of training
            if count % 12 == 0:
                with torch.no_grad():
                    for before, after, true in held:
                        (net(before, after)[1] - true).norm(dim=1).mean().item()
            if count == 36:
                break
    return count


class Crowd(nn.Module):
    """MCNN: three columns with kernels of different sizes, then a map of the density."""

    def __init__(self):
        super().__init__()
        columns = []
        for first, other, width in ((9, 7, 8), (7, 5, 10), (5, 3, 12)):
            parts = [nn.Conv2d(1, width, first, padding=first // 2), nn.ReLU(), nn.MaxPool2d(2)]
            parts += [nn.Conv2d(width, 2 * width, other, padding=other // 2), nn.ReLU(), nn.MaxPool2d(2)]
            columns.append(nn.Sequential(*parts, nn.Conv2d(2 * width, width, other, padding=other // 2), nn.ReLU()))
        self.columns, self.last = nn.ModuleList(columns), nn.Conv2d(30, 1, 1)

    def forward(self, x):
        return self.last(torch.cat([one(x) for one in self.columns], 1))


def crowd_counting():
    """Photos of three shapes, one a batch, in any order: three epochs of 15 photos; after each, five photos of validation."""
    shapes = [(48, 64), (64, 48), (56, 56)]
    photos = [(torch.rand(1, 1, *shapes[i % 3]), torch.rand(1, 1, *(n // 4 for n in shapes[i % 3]))) for i in range(20)]
    net, count = Crowd(), 0
    optimizer = torch.optim.SGD(net.parameters(), 1e-4, momentum=0.95)
    for _ in range(3):
        for i in torch.randperm(15).tolist():
            x, y = photos[i]
            optimizer.zero_grad()
            F.mse_loss(net(x), y, reduction="sum").backward()
            optimizer.step()
            count += 1  # a batch of training: a photo
        with torch.no_grad():
            sum((net(x).sum() - y.sum()).abs().item() for x, y in photos[15:])
    return count


class Conformer(nn.Module):
    """Half a feed-forward, attention, a convolution, half a feed-forward."""

    def __init__(self, width=48):
        super().__init__()
        self.halves = nn.ModuleList(
            [nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 128), nn.SiLU(), nn.Dropout(0.1), nn.Linear(128, width)) for _ in range(2)]
        )
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, 4, 0.1, batch_first=True)
        parts = [nn.Conv1d(width, 2 * width, 1), nn.GLU(1), nn.Conv1d(width, width, 15, padding=7, groups=width), nn.BatchNorm1d(width)]
        self.before, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.convolution = nn.Sequential(*parts, nn.SiLU(), nn.Conv1d(width, width, 1))

    def forward(self, x):
        x = x + 0.5 * self.halves[0](x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.convolution(self.before(x).transpose(1, 2)).transpose(1, 2)
        return self.last(x + 0.5 * self.halves[1](x))


class Emotions(nn.Module):
    def __init__(self):
        super().__init__()
        self.smaller = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.first, self.blocks, self.last = nn.Linear(80, 48), nn.Sequential(Conformer(), Conformer()), nn.Linear(48, 5)

    def forward(self, x):
        return self.last(self.blocks(self.first(self.smaller(x).permute(0, 3, 1, 2).flatten(2))).mean(1))


def emotions_in_speech():
    """Conformer in bfloat16: three epochs of ten batches of 6, the last of 4; the optimizer steps after every second; two of validation."""
    torch.backends.mha.set_fastpath_enabled(False)  # fails in bfloat16 by autocast
    net, count = Emotions(), 0
    training, validation = (TensorDataset(torch.randn(n, 1, 40, 64), torch.randint(0, 5, (n,))) for n in (58, 16))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3, (0.9, 0.98))
    for _ in range(3):
        net.train()
        for i, (x, y) in enumerate(DataLoader(training, 6, shuffle=True)):
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
            (loss / 2).backward()
            count += 1  # a batch of training
            if i % 2 == 1:
                optimizer.step()
                optimizer.zero_grad()
        net.eval()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            for x, y in DataLoader(validation, 8):
                (net(x).argmax(1) == y).float().mean().item()
    return count


def songs_in_pieces():
    """A network of the wave itself tags 26 songs, each cut in 4 to 9 pieces, whose answers are averaged: a song is a batch, and an iteration."""
    parts, width, count = [nn.Conv1d(1, 24, 9, 3), nn.BatchNorm1d(24), nn.ReLU()], 24, 0
    for wider in (24, 32, 32, 48):
        parts += [nn.Conv1d(width, wider, 3, padding=1), nn.BatchNorm1d(wider), nn.ReLU(), nn.MaxPool1d(3)]
        width = wider
    net = nn.Sequential(*parts, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 20), nn.Sigmoid()).eval()
    songs = [torch.randn(2187 * pieces + 500) for pieces in torch.randint(4, 10, (26,)).tolist()]
    tags = []
    with torch.inference_mode():
        for song in songs:
            pieces = song.unfold(0, 2187, 2187)[:, None]
            tags.append(net(pieces).mean(0))
            count += 1  # a song
    torch.stack(tags).topk(3)
    return count


class Coupling(nn.Module):
    """A half of the channels tells how to scale and shift the other half."""

    def __init__(self, channels, width=24):
        super().__init__()
        parts = [nn.Conv2d(channels // 2, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.ReLU(), nn.Conv2d(width, channels, 3, 1, 1)]
        self.net, self.scale = nn.Sequential(*parts), nn.Parameter(torch.zeros(1))

    def forward(self, x, inverse=False):
        a, b = x.chunk(2, 1)
        log, shift = self.net(a).chunk(2, 1)
        log = log.tanh() * self.scale
        b = (b - shift) * (-log).exp() if inverse else b * log.exp() + shift
        return torch.cat([b, a], 1) if not inverse else torch.cat([a, b], 1), log.flatten(1).sum(1)


def normalizing_flow():
    """RealNVP: three epochs of eight batches of 16 digits, the last of 8, two of validation; after each, nine digits are made, backward."""
    flow, count = nn.ModuleList([Coupling(4) for _ in range(4)]), 0
    optimizer = torch.optim.Adam(flow.parameters(), 1e-3)
    training, validation = DataLoader(torch.rand(120, 1, 16, 16), 16, shuffle=True), DataLoader(torch.rand(32, 1, 16, 16), 16)

    def loss_of(x):
        x, total = F.pixel_unshuffle(x + torch.rand_like(x) / 256, 2), 0.0
        for one in flow:
            x, log = one(x)
            total = total + log
        return (0.5 * x.square().flatten(1).sum(1) - total).mean()

    for _ in range(3):
        for x in training:
            loss = loss_of(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
        with torch.no_grad():
            sum(loss_of(x).item() for x in validation)
            z = torch.randn(9, 4, 8, 8)
            for one in reversed(flow):
                z = one(torch.cat(z.chunk(2, 1)[::-1], 1), True)[0]
            F.pixel_shuffle(z, 2)
    return count


def plain(channels=(3, 16, 24, 32), classes=10):
    parts = []
    for a, b in zip(channels, channels[1:]):
        parts += [nn.Conv2d(a, b, 3, 1, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.1), nn.MaxPool2d(2)]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(channels[-1], classes))


def mean_teacher():
    """Few labels: 4 labelled and 12 unlabelled images a batch, and an averaged teacher without gradients sees them with other noise: two
    epochs of twelve batches; after each, the teacher sees three batches of validation."""
    student, count = plain(), 0
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.SGD(student.parameters(), 0.03, momentum=0.9, nesterov=True)
    labelled, unlabelled = DataLoader(TensorDataset(*images(48)), 4, shuffle=True), DataLoader(images(144)[0], 12, shuffle=True)
    validation = DataLoader(TensorDataset(*images(56)), 20)
    for epoch in range(2):
        for (x, y), other in zip(labelled, unlabelled):
            both = torch.cat([x, other])
            found = student(both + 0.1 * torch.randn_like(both))
            with torch.no_grad():
                wanted = teacher(both + 0.1 * torch.randn_like(both)).softmax(1)
            loss = F.cross_entropy(found[:4], y) + (epoch + 1) * F.mse_loss(found.softmax(1), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(teacher.parameters(), student.parameters()):
                    slow.lerp_(fast, 0.01)
            count += 1  # a batch of training
        evaluate(teacher, validation)
    return count


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        body = [nn.Conv2d(3, 16, 5, 2), nn.ELU(), nn.Conv2d(16, 16, 3, 2), nn.ELU(), nn.Conv2d(16, 24, 3, 2), nn.ELU(), nn.Flatten()]
        self.body, self.action, self.value = nn.Sequential(*body), nn.Linear(24 * 9, 6), nn.Linear(24 * 9, 1)

    def forward(self, x):
        x = self.body(x)
        return torch.distributions.Categorical(logits=self.action(x)), self.value(x).squeeze(1)


def advantage_actor_critic():
    """A2C: 22 updates, each with the five moves that six games have made with gradients, and a look at what follows; after every
    eleventh, a game of 15 moves is watched."""
    net, count, seen = ActorCritic(), 0, torch.rand(6, 3, 40, 40)
    optimizer = torch.optim.RMSprop(net.parameters(), 7e-4, 0.99, 1e-5)
    for _ in range(22):
        logs, values, rewards, entropy = [], [], [], 0.0
        for _ in range(5):
            policy, value = net(seen)
            action = policy.sample()
            logs.append(policy.log_prob(action))
            values.append(value)
            entropy = entropy + policy.entropy().mean()
            rewards.append((action == 2).float())
            seen = torch.rand(6, 3, 40, 40)
        with torch.no_grad():
            following = net(seen)[1]
        loss = -0.01 * entropy
        for log, value, reward in zip(logs[::-1], values[::-1], rewards[::-1]):
            following = reward + 0.99 * following
            gain = following - value
            loss = loss + 0.5 * gain.square().mean() - (gain.detach() * log).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        count += 1  # an update
        if count % 11 == 0:
            with torch.no_grad():
                for _ in range(15):
                    net(torch.rand(1, 3, 40, 40))[0].probs.argmax(1)
    return count


def pruned_rounds():
    """Two epochs of eight batches of 10, the last of 6; then three times a fifth of the weights goes, and another epoch follows. A
    validation of two batches after each epoch and after each pruning."""
    net, count = plain((3, 16, 16, 32, 32)), 0
    training, validation = DataLoader(TensorDataset(*images(76)), 10, shuffle=True), DataLoader(TensorDataset(*images(32)), 16)

    def epoch(rate):
        optimizer, batches = torch.optim.SGD(net.parameters(), rate, momentum=0.9), 0
        for x, y in training:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            batches += 1  # a batch of training
        evaluate(net, validation)
        return batches

    for _ in range(2):
        count += epoch(0.05)
    chosen = [(one, "weight") for one in net if isinstance(one, nn.Conv2d)]
    for _ in range(3):
        prune.global_unstructured(chosen, prune.L1Unstructured, amount=0.2)
        evaluate(net, validation)
        count += epoch(0.01)
    return count


class Tracker(nn.Module):
    """SiamFC: what is sought is the kernel of a last convolution."""

    def __init__(self):
        super().__init__()
        parts = [nn.Conv2d(3, 16, 5, 2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 24, 3, 2), nn.BatchNorm2d(24), nn.ReLU()]
        self.body, self.bias = nn.Sequential(*parts, nn.Conv2d(24, 32, 3)), nn.Parameter(torch.zeros(1))

    def compare(self, sought, seen):
        height, width = seen.shape[2:]
        found = F.conv2d(seen.reshape(1, -1, height, width), sought, groups=len(sought))
        return 1e-2 * found.transpose(0, 1) + self.bias

    def forward(self, sought, seen):
        return self.compare(self.body(sought), self.body(seen))


def siamese_tracker():
    """Three epochs of eight batches of 6 pairs, the last of 4; at last a film of 20 frames, whose first tells what to follow."""
    net, count = Tracker(), 0
    training = TensorDataset(torch.rand(46, 3, 31, 31), torch.rand(46, 3, 63, 63), (torch.rand(46, 1, 9, 9) < 0.1).float())
    optimizer = torch.optim.SGD(net.parameters(), 1e-2, momentum=0.9)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
    for _ in range(3):
        for sought, seen, y in DataLoader(training, 6, shuffle=True):
            loss = F.binary_cross_entropy_with_logits(net(sought, seen), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
        schedule.step()
    net.eval()
    with torch.no_grad():
        sought = net.body(torch.rand(1, 3, 31, 31))
        for _ in range(20):
            net.compare(sought, net.body(torch.rand(1, 3, 63, 63))).argmax().item()
    return count


class Names(nn.Module):
    """A convolution sees a word's letters, an LSTM in both directions a sentence's words."""

    def __init__(self, words=200, letters=40, tags=7):
        super().__init__()
        self.words, self.letters, self.convolution = nn.Embedding(words, 32), nn.Embedding(letters, 12), nn.Conv1d(12, 20, 3, padding=1)
        self.lstm, self.last = nn.LSTM(52, 32, batch_first=True, bidirectional=True), nn.Linear(64, tags)

    def forward(self, words, letters):
        seen = self.convolution(self.letters(letters.flatten(0, 1)).transpose(1, 2)).amax(2)
        x = torch.cat([self.words(words), seen.unflatten(0, words.shape)], 2)
        return self.last(F.dropout(self.lstm(x)[0], 0.3, self.training))


def named_entities():
    """Sentences of 5 to 24 words, padded to their batch's longest: three epochs of twelve batches of 8, the last of 6, three of validation."""

    def sentence():
        n = torch.randint(5, 25, ()).item()
        return torch.randint(1, 200, (n,)), torch.randint(1, 40, (n, 10)), torch.randint(0, 7, (n,))

    def together(sentences):
        words, letters, tags = zip(*sentences)
        pad = nn.utils.rnn.pad_sequence
        return pad(words, True), pad(letters, True), pad(tags, True, -100)

    training, validation = [sentence() for _ in range(94)], [sentence() for _ in range(24)]
    net, count = Names(), 0
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    for _ in range(3):
        net.train()
        for words, letters, tags in DataLoader(training, 8, shuffle=True, collate_fn=together):
            net.zero_grad()
            F.cross_entropy(net(words, letters).flatten(0, 1), tags.flatten()).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            count += 1  # a batch of training
        net.eval()
        with torch.no_grad():
            for words, letters, tags in DataLoader(validation, 8, collate_fn=together):
                (net(words, letters).argmax(2) == tags)[tags >= 0].float().mean().item()
    return count


class Ghost(nn.Module):
    """A half of the channels by a convolution, the other half by cheap depthwise ones of them."""

    def __init__(self, before, width):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(before, width // 2, 1, bias=False), nn.BatchNorm2d(width // 2), nn.ReLU())
        cheap = nn.Conv2d(width // 2, width // 2, 3, 1, 1, groups=width // 2, bias=False)
        self.cheap = nn.Sequential(cheap, nn.BatchNorm2d(width // 2), nn.ReLU())

    def forward(self, x):
        x = self.first(x)
        return torch.cat([x, self.cheap(x)], 1)


def image_size_benchmark():
    """Milliseconds for images of 32, 48, 64 and 96 pixels: three calls to warm up and ten that are timed, each call an iteration."""
    parts, width = [nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU()], 16
    for wider in (24, 32, 48):
        parts += [Ghost(width, wider), Ghost(wider, wider), nn.AvgPool2d(2)]
        width = wider
    net, count, times = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 100)).eval(), 0, {}
    with torch.inference_mode():
        for size in (32, 48, 64, 96):
            x = torch.rand(4, 3, size, size)
            for _ in range(3):
                net(x)
                count += 1  # a call that warms up
            start = time.perf_counter()
            for _ in range(10):
                net(x)
                count += 1  # a call that is timed
            times[size] = 100 * (time.perf_counter() - start)
    return count


def traced_batches():
    """A traced and frozen network sees a test of 134 images: 17 batches of 8, the last of 6. An iteration is a batch."""

    class Fire(nn.Module):
        def __init__(self, before, width):
            super().__init__()
            self.squeeze, self.one, self.three = nn.Conv2d(before, 8, 1), nn.Conv2d(8, width, 1), nn.Conv2d(8, width, 3, padding=1)

        def forward(self, x):
            x = self.squeeze(x).relu()
            return torch.cat([self.one(x), self.three(x)], 1).relu() + 0.1

    parts = [nn.Conv2d(3, 16, 5, 2), nn.ReLU(), Fire(16, 16), Fire(32, 16), nn.MaxPool2d(2), Fire(32, 24), nn.MaxPool2d(2), Fire(48, 24)]
    net = nn.Sequential(*parts, nn.Conv2d(48, 10, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    net, count, right = torch.jit.freeze(torch.jit.trace(net, torch.rand(1, 3, 48, 48))), 0, 0
    with torch.no_grad():
        for x, y in DataLoader(TensorDataset(*images(134, 48)), 8):
            right += (net(x).argmax(1) == y).sum().item()
            count += 1  # a batch
    return count


class Mixer(nn.Module):
    """ConvMixer: a depthwise convolution with a short way, then one of size 1."""

    def __init__(self, width=24):
        super().__init__()
        self.deep = nn.Sequential(nn.Conv2d(width, width, 5, padding="same", groups=width), nn.GELU(), nn.BatchNorm2d(width))
        self.wide = nn.Sequential(nn.Conv2d(width, width, 1), nn.GELU(), nn.BatchNorm2d(width))

    def forward(self, x):
        return self.wide(x + self.deep(x))


def trainer_with_sanity_check():
    """As Lightning's trainer: two batches of validation before anything else; three epochs of ten batches of 6, the last of 2, with all four
    batches of validation in the middle and at the end of each; then a test of three with the best weights."""
    first = [nn.Conv2d(3, 24, 4, 4), nn.GELU(), nn.BatchNorm2d(24)]
    net, count = nn.Sequential(*first, Mixer(), Mixer(), Mixer(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10)), 0
    training, validation, test = (TensorDataset(*images(n, 40)) for n in (56, 24, 18))
    validation, test, best = DataLoader(validation, 6), DataLoader(test, 6), (math.inf, None)
    evaluate(net, list(validation)[:2])
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    for _ in range(3):
        for i, (x, y) in enumerate(DataLoader(training, 6, shuffle=True), 1):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            count += 1  # a batch of training
            if i % 5 == 0:
                value = evaluate(net, validation)
                if value < best[0]:
                    best = value, copy.deepcopy(net.state_dict())
    net.load_state_dict(best[1])
    evaluate(net, test)
    return count


class Whisperer(nn.Module):
    """Convolutions and attention hear a spectrogram, another transformer writes."""

    def __init__(self, width=48, letters=30):
        super().__init__()
        self.convolutions = nn.Sequential(nn.Conv1d(40, width, 3, padding=1), nn.GELU(), nn.Conv1d(width, width, 3, 2, 1), nn.GELU())
        options = {"dim_feedforward": 96, "dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, **options), 2, enable_nested_tensor=False)
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(32, width)
        self.decoder, self.last = nn.TransformerDecoder(nn.TransformerDecoderLayer(width, 4, **options), 2), nn.Linear(width, letters)

    def hear(self, x):
        return self.encoder(self.convolutions(x).transpose(1, 2))

    def write(self, heard, text):
        n = text.shape[1]
        x = self.letters(text) + self.places(torch.arange(n))
        mask = torch.ones(n, n, dtype=torch.bool).triu(1)
        return self.last(self.decoder(x, heard, mask)[:, -1])


def transcribed_recordings():
    """In bfloat16: 18 recordings, each heard once and then written letter by letter, 6 to 14 of them, the whole text again for each. An
    iteration is a recording."""
    torch.backends.mha.set_fastpath_enabled(False)  # fails in bfloat16 by autocast
    net, count = Whisperer().eval(), 0
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for length in torch.randint(6, 15, (18,)).tolist():
            heard, text = net.hear(torch.randn(1, 40, 100)), torch.zeros(1, 1, dtype=torch.long)
            for _ in range(length):
                text = torch.cat([text, net.write(heard, text).argmax(1, True)], 1)
            count += 1  # a recording
    return count


class Sentences(nn.Module):
    """A sentence's vector is its words' mean."""

    def __init__(self, width=64):
        super().__init__()
        self.words, self.places = nn.Embedding(300, width), nn.Embedding(32, width)
        layer = nn.TransformerEncoderLayer(width, 4, 128, 0.1, "gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        missing = x == 0
        y = self.layers(self.words(x) + self.places(torch.arange(x.shape[1])), src_key_padding_mask=missing)
        y = y.masked_fill(missing[:, :, None], 0.0).sum(1) / (~missing).sum(1, True)
        return F.normalize(y.float(), dim=1)


def sentence_vectors():
    """Pairs of sentences in bfloat16, the others of a batch are unlike: two epochs of eleven batches of 12 pairs, the last of 8; after each,
    the vectors of 40 questions and of 40 answers are made in batches of 16."""
    torch.backends.mha.set_fastpath_enabled(False)  # fails in bfloat16 by autocast
    net, count = Sentences(), 0

    def sentence():
        return torch.randint(1, 300, (torch.randint(6, 25, ()).item(),))

    def together(pairs):
        return tuple(nn.utils.rnn.pad_sequence(one, True) for one in zip(*pairs))

    training, held = [(sentence(), sentence()) for _ in range(128)], [(sentence(), sentence()) for _ in range(40)]
    optimizer = torch.optim.AdamW(net.parameters(), 2e-4)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, (i + 1) / 3))
    for _ in range(2):
        net.train()
        for one, two in DataLoader(training, 12, shuffle=True, collate_fn=together):
            with torch.autocast("cpu", torch.bfloat16):
                a, b = net(one), net(two)
            loss = F.cross_entropy(20 * a @ b.T, torch.arange(len(a)))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            count += 1  # a batch of training
        net.eval()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            vectors = []
            for side in zip(*held):
                ordered = sorted(side, key=len, reverse=True)
                batches = [nn.utils.rnn.pad_sequence(ordered[i : i + 16], True) for i in range(0, 40, 16)]
                vectors.append(torch.cat([net(x) for x in batches]))
            (vectors[0] @ vectors[1].T).argmax(1)
    return count


def test_time_adaptation():
    """TENT: a trained network sees a changed test of 150 images in 15 batches of 10, and after each its norms learn from its own doubt.
    Before and after that 40 images are evaluated in two batches. An iteration is a batch of the changed test."""
    net, count, answers = plain((3, 12, 24, 24, 32)), 0, []
    known = DataLoader(TensorDataset(*images(40)), 20)
    evaluate(net, known)
    net.train().requires_grad_(False)
    chosen = [p.requires_grad_() for one in net if isinstance(one, nn.BatchNorm2d) for p in one.parameters()]
    optimizer = torch.optim.Adam(chosen, 1e-3)
    for x, y in DataLoader(TensorDataset(*images(150)), 10):
        found = net(x + 0.3 * torch.randn_like(x))
        loss = -(found.softmax(1) * found.log_softmax(1)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        answers.append((found.argmax(1) == y).float().mean().item())
        count += 1  # a batch of the changed test
    evaluate(net, known)
    return count


class Field(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.first, self.second = nn.Sequential(nn.Linear(39, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()), nn.Linear(width + 39, width)
        self.density, self.color = nn.Linear(width, 1), nn.Sequential(nn.Linear(width + 3, 32), nn.ReLU(), nn.Linear(32, 3), nn.Sigmoid())

    def forward(self, points, direction):
        seen = torch.cat([points] + [f(points * 2.0**i) for i in range(6) for f in (torch.sin, torch.cos)], -1)
        x = self.second(torch.cat([self.first(seen), seen], -1)).relu()
        return self.color(torch.cat([x, direction.expand_as(points)], -1)), F.softplus(self.density(x).float())


def radiance_field():
    """NeRF in bfloat16, a coarse and a fine network: 40 iterations with 128 rays; after every twentieth, an image of 16 x 24 rays in pieces
    of 128."""
    coarse, fine, count = Field(), Field(), 0
    optimizer = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], 5e-4)

    def render(net, rays, depths):
        origin, direction = rays[:, None, :3], F.normalize(rays[:, None, 3:], dim=2)
        with torch.autocast("cpu", torch.bfloat16):
            color, density = net(origin + depths[..., None] * direction, direction)
        alpha = 1 - (-density[..., 0] / depths.shape[1]).exp()
        weights = alpha * torch.cat([torch.ones_like(alpha[:, :1]), (1 - alpha + 1e-10).cumprod(1)[:, :-1]], 1)
        return (weights[..., None] * color.float()).sum(1), weights

    def both(rays):
        depths = torch.linspace(2, 6, 16) + torch.rand(len(rays), 16) / 4
        first, weights = render(coarse, rays, depths)
        more = depths.gather(1, torch.multinomial(weights.detach() + 1e-3, 16, True)) + torch.rand(len(rays), 16) / 8
        return first, render(fine, rays, torch.cat([depths, more], 1).sort(1).values)[0]

    for _ in range(40):
        rays, y = torch.randn(128, 6), torch.rand(128, 3)
        first, second = both(rays)
        loss = F.mse_loss(first, y) + F.mse_loss(second, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += 1  # an iteration of training
        if count % 20 == 0:
            with torch.no_grad():
                torch.cat([both(piece)[1] for piece in torch.randn(384, 6).split(128)]).reshape(16, 24, 3)
    return count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if f.__name__ not in ("evaluate", "plain") and not isinstance(f, type)}
