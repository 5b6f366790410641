"""PyTorch programs of a fifth blind test, all of them ordinary scripts. As in torch_programs.py each returns how many iterations of
its own loop it has run: batches of training where it trains (without those of validation), else batches or calls of inference."""
import copy
import io
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from torch_programs import images


def block(before, width, kernel=3, stride=1):
    return nn.Sequential(nn.Conv2d(before, width, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(width), nn.ReLU())


def evaluate(net, batches, loss=F.cross_entropy):
    net.eval()
    with torch.no_grad():
        values = [loss(net(x), y).item() for x, y in batches]
    net.train()
    return sum(values) / len(values)


class Separable(nn.Sequential):
    """A depthwise and a pointwise convolution."""

    def __init__(self, before, width, stride=1):
        one = [nn.Conv2d(before, before, 3, stride, 1, groups=before, bias=False), nn.BatchNorm2d(before), nn.ReLU()]
        super().__init__(*one, nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())


def keyword_spotting():
    """DS-CNN hears words: four epochs of eight batches, the last of 8, two batches of validation; then the best weights see a test of three."""
    first = [nn.Conv2d(1, 24, (10, 4), 2, (5, 1)), nn.BatchNorm2d(24), nn.ReLU()]
    body = [Separable(24, 24), Separable(24, 24), Separable(24, 32)]
    net = nn.Sequential(*first, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(32, 12))
    training, validation, test = (TensorDataset(torch.randn(n, 1, 49, 10), torch.randint(0, 12, (n,))) for n in (120, 24, 48))
    optimizer, count, best, kept = torch.optim.Adam(net.parameters(), 5e-4), 0, math.inf, None
    for _ in range(4):
        for x, y in DataLoader(training, 16, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            count += 1  # a batch of training
        value = evaluate(net, DataLoader(validation, 16))
        if value < best:
            best, kept = value, copy.deepcopy(net.state_dict())
    net.load_state_dict(kept)
    evaluate(net, DataLoader(test, 16))
    return count


class Demand(nn.Module):
    """One LSTM reads the past, another one what is known of the future."""

    def __init__(self):
        super().__init__()
        self.past, self.future = nn.LSTM(6, 32, batch_first=True), nn.LSTM(3, 32, batch_first=True)
        self.last = nn.Linear(32, 1)

    def forward(self, past, future):
        return self.last(self.future(future, self.past(past)[1])[0]).squeeze(2)


def demand_forecasting():
    """Four epochs of eight batches of shops, the last of 12, with two batches of validation; at last a forecast for 20 shops."""
    net = Demand()
    optimizer, count = torch.optim.Adam(net.parameters(), 2e-3), 0
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
    training, validation = (TensorDataset(torch.randn(n, 28, 6), torch.randn(n, 7, 3), torch.randn(n, 7)) for n in (124, 32))
    for _ in range(4):
        net.train()
        for past, future, y in DataLoader(training, 16, shuffle=True):
            loss = F.huber_loss(net(past, future), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            count += 1  # a batch of training
        schedule.step()
        net.eval()
        with torch.no_grad():
            for past, future, y in DataLoader(validation, 16):
                F.l1_loss(net(past, future), y).item()
    with torch.no_grad():
        net(torch.randn(20, 28, 6), torch.randn(20, 7, 3)).sum(1)
    return count


class Table(nn.Module):
    """A residual network for rows of a table with numbers and categories."""

    def __init__(self, width=96):
        super().__init__()
        self.categories = nn.ModuleList([nn.Embedding(n, 8) for n in (7, 12, 31)])
        self.first, self.last = nn.Linear(20 + 24, width), nn.Linear(width, 2)
        one = [nn.BatchNorm1d(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2 * width, width)]
        self.blocks = nn.ModuleList([nn.Sequential(*copy.deepcopy(one)) for _ in range(3)])

    def forward(self, numbers, kinds):
        x = self.first(torch.cat([numbers, *[one(kinds[:, i]) for i, one in enumerate(self.categories)]], 1))
        for one in self.blocks:
            x = x + one(x)
        return self.last(x.relu())


def table_in_bfloat16():
    """A table of 664 rows: three epochs of eleven batches, the last of 24 rows, with two batches of validation, in bfloat16."""
    net = Table()
    optimizer, count = torch.optim.AdamW(net.parameters(), 1e-3, weight_decay=1e-2), 0

    def rows(count):
        kinds = torch.stack([torch.randint(0, n, (count,)) for n in (7, 12, 31)], 1)
        return TensorDataset(torch.randn(count, 20), kinds, torch.randint(0, 2, (count,)))

    training, validation = DataLoader(rows(664), 64, shuffle=True), DataLoader(rows(256), 128)
    for _ in range(3):
        net.train()
        for numbers, kinds, y in training:
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(net(numbers, kinds), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
        net.eval()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            scores = torch.cat([net(numbers, kinds).softmax(1)[:, 1].float() for numbers, kinds, _ in validation])
        (scores > 0.5).float().mean().item()
    return count


def listwise_ranking():
    """Learning to rank in bfloat16: a query with 8 to 40 documents is a batch; two epochs of 30 queries, after each 8 queries of validation."""
    net = nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer, count = torch.optim.Adam(net.parameters(), 1e-3), 0
    queries = [(torch.randn(int(n), 48), torch.randint(0, 4, (int(n),)).float()) for n in torch.randint(8, 41, (38,))]
    for _ in range(2):
        for i in torch.randperm(30).tolist():
            documents, relevance = queries[i]
            with torch.autocast("cpu", torch.bfloat16):
                scores = net(documents).squeeze(1)
            loss = -(relevance.softmax(0) * scores.float().log_softmax(0)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a query of training
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            for documents, relevance in queries[30:]:
                order = net(documents).squeeze(1).argsort(descending=True)[:10]
                (relevance[order] / torch.arange(2, len(order) + 2).log2()).sum().item()
    return count


class Margin(nn.Module):
    """ArcFace: an angle is added between a face and its own class."""

    def __init__(self, width, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, width))

    def forward(self, x, y):
        angles = F.linear(F.normalize(x), F.normalize(self.weight)).clamp(-0.999, 0.999).acos()
        return 16 * (angles + 0.3 * F.one_hot(y, len(self.weight))).cos()


def face_margins():
    """Three epochs of eight batches, the last of 10; body and classes have an optimizer each; then 60 faces are sought among two batches."""
    body = nn.Sequential(block(3, 16, 3, 2), block(16, 32, 3, 2), block(32, 32), block(32, 48, 3, 2), nn.Flatten(), nn.Linear(48 * 25, 64))
    margin, count = Margin(64, 10), 0
    of_body, of_margin = torch.optim.SGD(body.parameters(), 1e-2, momentum=0.9), torch.optim.Adam(margin.parameters(), 1e-3)
    data, gallery, probes = TensorDataset(*images(150, 40)), images(60, 40), images(60, 40)
    for _ in range(3):
        body.train()
        for x, y in DataLoader(data, 20, shuffle=True):
            loss = F.cross_entropy(margin(body(x), y), y)
            of_body.zero_grad()
            of_margin.zero_grad()
            loss.backward()
            of_body.step()
            of_margin.step()
            count += 1  # a batch of training
        body.eval()
        with torch.no_grad():
            known = F.normalize(torch.cat([body(x) for x in gallery[0].split(30)]))
            asked = F.normalize(body(probes[0]))
        (gallery[1][(asked @ known.T).argmax(1)] == probes[1]).float().mean().item()
    return count


class Skips(nn.Module):
    """FCN: scores of three depths are added, the deeper ones enlarged."""

    def __init__(self, classes=4):
        super().__init__()
        self.parts = nn.ModuleList([nn.Sequential(block(a, b), block(b, b), nn.MaxPool2d(2)) for a, b in ((3, 12), (12, 24), (24, 32))])
        self.scores = nn.ModuleList([nn.Conv2d(width, classes, 1) for width in (12, 24, 32)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(classes, classes, 4, 2, 1) for _ in range(3)])

    def forward(self, x):
        seen = []
        for part, score in zip(self.parts, self.scores):
            x = part(x)
            seen.append(score(x))
        y = self.up[2](seen[2])
        y = self.up[1](y + seen[1])
        return self.up[0](y + seen[0])


def dice(found, y):
    part, wanted = found.softmax(1), F.one_hot(y, found.shape[1]).permute(0, 3, 1, 2)
    return 1 - (2 * (part * wanted).sum((2, 3)) / (part + wanted).sum((2, 3)).clamp(1)).mean()


def tissue_segmentation():
    """Three epochs of nine batches of 4 crops, the last of 2; the optimizer steps after every third; then five whole images one by one."""
    net = Skips()
    optimizer, count = torch.optim.Adam(net.parameters(), 1e-3), 0
    crops = DataLoader(TensorDataset(torch.rand(34, 3, 48, 48), torch.randint(0, 4, (34, 48, 48))), 4, shuffle=True)
    whole = DataLoader(TensorDataset(torch.rand(5, 3, 96, 96), torch.randint(0, 4, (5, 96, 96))), 1)
    for _ in range(3):
        for i, (x, y) in enumerate(crops, 1):
            found = net(x)
            ((F.cross_entropy(found, y) + dice(found, y)) / 3).backward()
            count += 1  # a batch of training, not a step of the optimizer
            if i % 3 == 0:
                optimizer.step()
                optimizer.zero_grad()
        evaluate(net, whole, dice)
    return count


class Preactivated(nn.Module):
    """A residual block whose normalizations come first."""

    def __init__(self, before, width, stride=1):
        super().__init__()
        self.norms = nn.ModuleList([nn.BatchNorm2d(before), nn.BatchNorm2d(width)])
        self.first, self.second = nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.short = nn.Conv2d(before, width, 1, stride, bias=False) if stride > 1 or before != width else nn.Identity()

    def forward(self, x):
        y = self.norms[0](x).relu()
        return self.short(y) + self.second(self.norms[1](self.first(y)).relu())


def compared_checkpoints():
    """Four files of weights, then their average, see a test set of 90 images: six batches each, the last of 10. An iteration is a batch."""
    body = [nn.Conv2d(3, 12, 3, 1, 1), Preactivated(12, 12), Preactivated(12, 24, 2), Preactivated(24, 24), Preactivated(24, 32, 2)]
    net, files, count, reached = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)), [], 0, []
    for _ in range(4):
        for p in net.parameters():
            p.data.add_(0.01 * torch.randn_like(p))  # instead of the training
        files.append(io.BytesIO())
        torch.save(net.state_dict(), files[-1])
    test = DataLoader(TensorDataset(*images(90)), 16)
    states = [torch.load(io.BytesIO(file.getvalue())) for file in files]
    states.append({name: sum(state[name] for state in states) / 4 if value.is_floating_point() else value for name, value in states[0].items()})
    net.eval()
    for state in states:
        net.load_state_dict(state)
        right = 0
        with torch.inference_mode():
            for x, y in test:
                right += (net(x).argmax(1) == y).sum().item()
                count += 1  # a batch of a test
        reached.append(right / 90)
    return count


def successive_halving():
    """Six rates learn for an epoch of four batches, the three best for two more, the best for four more; each turn has a validation."""
    training, validation = TensorDataset(*images(64)), DataLoader(TensorDataset(*images(48)), 16)
    count, tried = 0, []
    for rate in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4):
        body = [nn.Conv2d(3, 12, 5, 2, 2), nn.ReLU(), nn.Conv2d(12, 24, 3, 2, 1), nn.ReLU(), nn.Conv2d(24, 24, 3, 1, 1), nn.ReLU()]
        net = nn.Sequential(*body, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, 10))
        tried.append([math.inf, net, torch.optim.SGD(net.parameters(), rate, momentum=0.9)])
    for kept, epochs in ((6, 1), (3, 2), (1, 4)):
        tried = sorted(tried, key=lambda one: one[0])[:kept]
        for one in tried:
            _, net, optimizer = one
            for _ in range(epochs):
                for x, y in DataLoader(training, 16, shuffle=True):
                    optimizer.zero_grad()
                    F.cross_entropy(net(x), y).backward()
                    optimizer.step()
                    count += 1  # a batch of training
            value = evaluate(net, validation)
            one[0] = value if math.isfinite(value) else math.inf
    return count


def curriculum_of_sizes():
    """Two epochs each of 3 batches of 32 small images, 6 of 16 larger ones, 12 of 8 large ones; two batches of validation after each."""
    body = [block(3, 16, 3, 2), Preactivated(16, 16), Preactivated(16, 32, 2), nn.BatchNorm2d(32), nn.ReLU()]
    net, data = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)), TensorDataset(*images(96, 64))
    validation, count = DataLoader(TensorDataset(*images(32, 64)), 16), 0
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    for size, batch in ((32, 32), (48, 16), (64, 8)):
        for _ in range(2):
            for x, y in DataLoader(data, batch, shuffle=True):
                x = F.interpolate(x, (size, size), mode="bilinear", antialias=True)
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()
                count += 1  # a batch of training
            evaluate(net, validation)
    return count


class Sentences(nn.Module):
    """An encoder whose mean over a sentence's words is its embedding."""

    def __init__(self, width=64):
        super().__init__()
        self.words, self.places = nn.Embedding(300, width, 0), nn.Embedding(64, width)
        layer = nn.TransformerEncoderLayer(width, 4, 128, 0.1, "gelu", batch_first=True)
        self.layers, self.last = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(width, width)

    def forward(self, x):
        gap = x == 0
        y = self.layers(self.words(x) + self.places(torch.arange(x.shape[1])), src_key_padding_mask=gap)
        return F.normalize(self.last(y.masked_fill(gap[:, :, None], 0).sum(1) / (~gap).sum(1, keepdim=True)), dim=1)


def embedding_service():
    """A service in bfloat16: 40 requests of 1 to 8 sentences of 4 to 40 words, padded to the longest. An iteration is a request."""
    torch.backends.mha.set_fastpath_enabled(False)  # fails in bfloat16 by autocast
    net, count = Sentences().eval(), 0
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for many in torch.randint(1, 9, (40,)).tolist():
            asked = [torch.randint(1, 300, (int(n),)) for n in torch.randint(4, 41, (many,))]
            net(nn.utils.rnn.pad_sequence(asked, batch_first=True)).float().tolist()
            count += 1  # a request
    return count


class Masked(nn.Conv2d):
    """A convolution that sees the pixels before only, and itself where `own`."""

    def __init__(self, before, width, kernel, own):
        super().__init__(before, width, kernel, padding=kernel // 2)
        mask = torch.ones(kernel, kernel)
        mask[kernel // 2, kernel // 2 + own :] = 0
        mask[kernel // 2 + 1 :] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        return self._conv_forward(x, self.weight * self.mask, self.bias)


def pixel_by_pixel():
    """PixelCNN: three epochs of six batches with two of validation; at the end eight images of 8 x 8 are made, one pixel a call."""
    body = [Masked(1, 24, 7, 0), nn.ReLU(), Masked(24, 24, 3, 1), nn.ReLU(), Masked(24, 24, 3, 1), nn.ReLU()]
    net, count = nn.Sequential(*body, nn.Conv2d(24, 4, 1)), 0
    optimizer = torch.optim.RMSprop(net.parameters(), 1e-3)
    training, validation = (torch.randint(0, 4, (n, 1, 8, 8)) for n in (96, 32))
    for _ in range(3):
        for x in DataLoader(training, 16, shuffle=True):
            loss = F.cross_entropy(net(x / 3), x[:, 0])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
        evaluate(net, [(x / 3, x[:, 0]) for x in validation.split(16)])
    made = torch.zeros(8, 1, 8, 8)
    with torch.no_grad():
        for row in range(8):
            for column in range(8):
                made[:, 0, row, column] = net(made)[:, :, row, column].softmax(1).multinomial(1)[:, 0] / 3
    return count


class LowRank(nn.Module):
    """A linear layer that stays, and a product of two small matrices that learns."""

    def __init__(self, linear, rank=8):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.down, self.up = nn.Linear(linear.in_features, rank, bias=False), nn.Linear(rank, linear.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.linear(x) + 2 * self.up(self.down(x))


class Causal(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.inner, self.outer = LowRank(nn.Linear(width, 3 * width)), LowRank(nn.Linear(width, width))
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)).requires_grad_(False)

    def forward(self, x):
        q, k, v = (one.unflatten(2, (self.heads, -1)).transpose(1, 2) for one in self.inner(self.norms[0](x)).chunk(3, 2))
        x = x + self.outer(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.layers(self.norms[1](x))


def low_rank_adapters():
    """LoRA in bfloat16: two epochs of twelve batches of 4 texts, a step of the optimizer after every fourth; three of validation."""
    net = nn.Sequential(nn.Embedding(150, 64).requires_grad_(False), Causal(), Causal(), nn.LayerNorm(64), nn.Linear(64, 150).requires_grad_(False))
    optimizer, count = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 2e-4), 0
    training, validation = torch.randint(0, 150, (48, 33)), torch.randint(0, 150, (24, 33))

    def loss(x):
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    for _ in range(2):
        for i, x in enumerate(DataLoader(training, 4, shuffle=True), 1):
            (loss(x) / 4).backward()
            count += 1  # a batch of training, not a step of the optimizer
            if i % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
        with torch.no_grad():
            sum(loss(x).item() for x in validation.split(8))
    return count


class Rooms(nn.Module):
    """One body; heads for the class of each pixel, its depth, and the kind of room."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(block(3, 16, 3, 2), block(16, 24, 3, 2), block(24, 32), block(32, 32))
        self.classes = nn.Sequential(block(32, 24), nn.Conv2d(24, 6, 1), nn.Upsample(scale_factor=4, mode="bilinear"))
        self.depth = nn.Sequential(nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))
        self.room = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 5))
        self.weights = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        x = self.body(x)
        return self.classes(x), self.depth(x), self.room(x)


def rooms_with_three_tasks():
    """Two epochs of 14 batches; body and heads have an optimizer each. After every seventh batch, two batches of validation."""
    net = Rooms()
    heads = [*net.classes.parameters(), *net.depth.parameters(), *net.room.parameters(), net.weights]
    optimizers, count = [torch.optim.SGD(net.body.parameters(), 1e-2, momentum=0.9), torch.optim.Adam(heads, 1e-3)], 0

    def data(count):
        wanted = torch.randint(0, 6, (count, 48, 48)), torch.rand(count, 1, 48, 48), torch.randint(0, 5, (count,))
        return TensorDataset(torch.rand(count, 3, 48, 48), *wanted)

    def loss(x, *wanted):
        losses = [f(found, y) for f, found, y in zip((F.cross_entropy, F.l1_loss, F.cross_entropy), net(x), wanted)]
        return (torch.stack(losses) * (-net.weights).exp() + net.weights).sum()

    training, validation = DataLoader(data(112), 8, shuffle=True), DataLoader(data(16), 8)
    for _ in range(2):
        for batch in training:
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss(*batch).backward()
            for optimizer in optimizers:
                optimizer.step()
            count += 1  # a batch of training
            if count % 7 == 0:
                net.eval()
                with torch.no_grad():
                    sum(loss(*held).item() for held in validation)
                net.train()
    return count


def deep_q_learning():
    """30 updates with 32 remembered frames each; before each, four games take an action. An old copy of the network is asked, too."""
    body = [nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU()]
    net, count = nn.Sequential(*body, nn.Linear(64, 4)), 0
    target, optimizer = copy.deepcopy(net), torch.optim.Adam(net.parameters(), 2.5e-4)
    frames = torch.rand(4, 4, 44, 44)
    memory = [(frames[0], 0, 0.0, torch.rand(4, 44, 44)) for _ in range(64)]
    for _ in range(30):
        with torch.no_grad():
            best = net(frames).argmax(1)
        actions = torch.where(torch.rand(4) < 0.1, torch.randint(0, 4, (4,)), best)
        after = torch.rand(4, 4, 44, 44)
        memory += [(frames[i], int(actions[i]), torch.rand(()).item(), after[i]) for i in range(4)]
        frames = after
        x, a, reward, later = zip(*[memory[i] for i in torch.randint(0, len(memory), (32,)).tolist()])
        with torch.no_grad():
            wanted = torch.tensor(reward) + 0.99 * target(torch.stack(later)).amax(1)
        found = net(torch.stack(x)).gather(1, torch.tensor(a)[:, None])[:, 0]
        optimizer.zero_grad()
        F.smooth_l1_loss(found, wanted).backward()
        optimizer.step()
        count += 1  # an update
        if count % 10 == 0:
            target.load_state_dict(net.state_dict())
    return count


class Enhancer(nn.Module):
    """A small Conv-TasNet: it finds a mask on a learned basis."""

    def __init__(self, width=32):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, width, 16, 8, bias=False), nn.ConvTranspose1d(width, 1, 16, 8, bias=False)
        self.blocks, self.mask = nn.ModuleList(), nn.Conv1d(width, width, 1)
        for d in (1, 2, 4, 8):
            deep = [nn.Conv1d(48, 48, 3, padding=d, dilation=d, groups=48), nn.PReLU(), nn.GroupNorm(1, 48), nn.Conv1d(48, width, 1)]
            self.blocks.append(nn.Sequential(nn.Conv1d(width, 48, 1), nn.PReLU(), nn.GroupNorm(1, 48), *deep))

    def forward(self, x):
        basis = self.first(x).relu()
        y = basis
        for one in self.blocks:
            y = y + one(y)
        return self.last(basis * self.mask(y).sigmoid())


def speech_enhancement():
    """24 batches of 6 noisy pieces of speech; after every eighth, three whole sentences of different length, one by one."""
    net = Enhancer()
    optimizer, count = torch.optim.Adam(net.parameters(), 1e-3), 0
    held = [(torch.randn(1, 1, n), torch.randn(1, 1, n)) for n in (2400, 3200, 4800)]

    def loss(found, clean):
        clean, found = clean.flatten(1), found.flatten(1)
        part = (found * clean).sum(1, keepdim=True) / clean.square().sum(1, keepdim=True) * clean
        return -10 * (part.square().sum(1) / (found - part).square().sum(1)).log10().mean()

    for i in range(1, 25):
        clean = torch.randn(6, 1, 1600)
        value = loss(net(clean + 0.3 * torch.randn_like(clean)), clean)
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        count += 1  # a batch of training
        if i % 8 == 0:
            evaluate(net, held, loss)
    return count


def compared_precisions():
    """A benchmark in float, with the channels last, and in bfloat16: three calls to warm up and ten that are timed, each an iteration."""
    body = [block(3, 16, 3, 2), Separable(16, 32), Separable(32, 48, 2), Separable(48, 48), Separable(48, 64, 2)]
    net = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 100)).eval()
    x, count, speed = torch.randn(8, 3, 96, 96), 0, {}
    last = {"memory_format": torch.channels_last}
    variants = {"float": (net, x), "channels last": (copy.deepcopy(net).to(**last), x.to(**last))}
    variants["bfloat16"] = copy.deepcopy(net).bfloat16(), x.bfloat16()
    with torch.inference_mode():
        for name, (one, data) in variants.items():
            for _ in range(3):
                one(data)
                count += 1  # a call to warm up
            start = time.perf_counter()
            for _ in range(10):
                one(data)
                count += 1  # a call that is timed
            speed[name] = 80 / (time.perf_counter() - start)
    return count


class Actions(nn.Module):
    """A body that stays sees each frame, an LSTM that learns their sequence."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(block(3, 16, 5, 2), block(16, 24, 3, 2), block(24, 32, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.body.requires_grad_(False).eval()
        self.lstm, self.last = nn.LSTM(32, 48, batch_first=True), nn.Linear(48, 6)

    def forward(self, x):
        with torch.no_grad():
            seen = self.body(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return self.last(self.lstm(seen)[0][:, -1])


def actions_in_films():
    """Three epochs of seven batches of 4 films with 8 frames, the last batch of 2, each with two batches of validation."""
    net = Actions()
    optimizer, count = torch.optim.Adam([*net.lstm.parameters(), *net.last.parameters()], 1e-3), 0
    training, validation = (TensorDataset(torch.rand(n, 8, 3, 40, 40), torch.randint(0, 6, (n,))) for n in (26, 8))
    for _ in range(3):
        for x, y in DataLoader(training, 4, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            count += 1  # a batch of training
        net.lstm.eval()
        with torch.no_grad():
            for x, y in DataLoader(validation, 4):
                (net(x).argmax(1) == y).float().mean().item()
        net.lstm.train()
    return count


def sharpness_aware():
    """SAM: a batch passes the network forward and backward twice. Three epochs of six batches, the last of 8; two batches of validation."""
    body = [nn.Conv2d(3, 16, 3, 1, 1), Preactivated(16, 16, 2), Preactivated(16, 32, 2), nn.BatchNorm2d(32), nn.ReLU()]
    net = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    optimizer, count = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9), 0
    training, validation = DataLoader(TensorDataset(*images(88)), 16, shuffle=True), DataLoader(TensorDataset(*images(32)), 16)
    for _ in range(3):
        for x, y in training:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            moves = [0.05 * p.grad / (norm + 1e-12) for p in net.parameters()]
            with torch.no_grad():
                torch._foreach_add_(list(net.parameters()), moves)
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            with torch.no_grad():
                torch._foreach_sub_(list(net.parameters()), moves)
            optimizer.step()
            count += 1  # a batch of training, with both of its passes
        evaluate(net, validation)
    return count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if f.__name__ not in ("block", "evaluate", "dice") and not isinstance(f, type)}
