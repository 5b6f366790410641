"""PyTorch programs of a fourth blind test, all of them ordinary scripts. As in torch_programs.py each returns how many iterations of
its own loop it has run: batches of training where it trains (without those of validation), else batches or calls of inference."""
import copy
import itertools
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split

from torch_programs import images


def block(before, width, kernel=3, stride=1):
    return nn.Sequential(nn.Conv2d(before, width, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(width), nn.ReLU())


def evaluate(net, batches, loss=F.cross_entropy):
    net.eval()
    with torch.no_grad():
        values = [loss(net(x), y).item() for x, y in batches]
    net.train()
    return sum(values) / len(values)


def activity_recognition():
    """A 1-D network sees windows of an accelerometer: four epochs of nine batches, the last of 8 windows; two batches of validation."""
    body = [nn.Conv1d(6, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2)]
    body += [nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(32, 32, 5, padding=2), nn.ReLU()]
    net = nn.Sequential(*body, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(32, 6))
    training = DataLoader(TensorDataset(torch.randn(136, 6, 128), torch.randint(0, 6, (136,))), 16, shuffle=True)
    validation = DataLoader(TensorDataset(torch.randn(64, 6, 128), torch.randint(0, 6, (64,))), 32)
    optimizer, count = torch.optim.Adam(net.parameters(), 1e-3), 0
    for _ in range(4):
        for x, y in training:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            count += 1  # a batch of training
        evaluate(net, validation)
    return count


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.last = nn.LSTM(4, 32, num_layers=2, dropout=0.1, batch_first=True), nn.Linear(32, 1)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1]).squeeze(1)


def walk_forward_forecaster():
    """Four times an LSTM learns all of a series so far (3, 5, 7, then 9 batches), in two epochs each, and forecasts the next 32 values."""
    series = torch.randn(360, 4).cumsum(0)
    windows, wanted = series.unfold(0, 24, 1)[:-1].transpose(1, 2), series[24:, 0]
    count = 0
    for end in (96, 160, 224, 288):
        net = Forecaster()
        optimizer = torch.optim.Adam(net.parameters(), 5e-3)
        training = DataLoader(TensorDataset(windows[:end], wanted[:end]), 32, shuffle=True)
        for _ in range(2):
            for x, y in training:
                loss = F.mse_loss(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                count += 1  # a batch of training
        net.eval()
        with torch.no_grad():
            F.l1_loss(net(windows[end : end + 32]), wanted[end : end + 32]).item()
    return count


class Recommender(nn.Module):
    """Neural collaborative filtering."""

    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(200, 32), nn.Embedding(300, 32)
        self.layers = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user, item):
        return self.layers(torch.cat([self.users(user), self.items(item)], 1)).squeeze(1)


def bfloat16_recommender():
    """Two epochs of 14 batches of ratings, the last of 40; after each epoch, 100 items are ranked for each of five users, one by one."""
    net = Recommender()
    user, item, rating = torch.randint(0, 200, (872,)), torch.randint(0, 300, (872,)), torch.rand(872)
    optimizer, count = torch.optim.Adam(net.parameters(), 1e-3), 0
    for _ in range(2):
        for one, other, y in DataLoader(TensorDataset(user, item, rating), 64, shuffle=True):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                found = net(one, other)
            F.binary_cross_entropy_with_logits(found.float(), y).backward()
            optimizer.step()
            count += 1  # a batch of training
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            for one in range(5):
                net(torch.full((100,), one), torch.randperm(300)[:100]).topk(10)
    return count


class Translator(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.source, self.target, self.places = nn.Embedding(120, width, 0), nn.Embedding(130, width, 0), nn.Embedding(40, width)
        self.body, self.last = nn.Transformer(width, 4, 2, 2, 96, batch_first=True), nn.Linear(width, 130)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        x, y = (words(one) + self.places(torch.arange(one.shape[1])) for words, one in ((self.source, source), (self.target, target)))
        gap = source == 0
        return self.last(self.body(x, y, tgt_mask=mask, src_key_padding_mask=gap, memory_key_padding_mask=gap, tgt_is_causal=True))


def padded(pairs):
    return [nn.utils.rnn.pad_sequence(side, batch_first=True) for side in zip(*pairs)]


def translation_transformer():
    """Sentences of 6 to 16 words, padded to their batch's longest: three epochs of six batches in bfloat16, two batches of validation."""
    torch.backends.mha.set_fastpath_enabled(False)  # fails in bfloat16 by autocast
    pairs = [[torch.randint(1, 120, (int(n),)) for n in torch.randint(6, 17, (2,))] for _ in range(64)]
    net = Translator()
    optimizer, count = torch.optim.AdamW(net.parameters(), 3e-4), 0
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min((i + 1) ** -0.5, (i + 1) * 6**-1.5))

    def loss(source, target):
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(net(source, target[:, :-1]).transpose(1, 2), target[:, 1:], ignore_index=0)

    for _ in range(3):
        net.train()
        for source, target in DataLoader(pairs[:48], 8, shuffle=True, collate_fn=padded):
            optimizer.zero_grad()
            loss(source, target).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            count += 1  # a batch of training
        net.eval()
        with torch.no_grad():
            for source, target in DataLoader(pairs[48:], 8, collate_fn=padded):
                loss(source, target).item()
    return count


def anomaly_autoencoder():
    """Five epochs of six batches of good images, without validation; then good and bad images are scored in four batches."""
    down = [block(1, 16, stride=2), block(16, 32, stride=2), nn.Conv2d(32, 8, 3, 2, 1)]
    up = [nn.ConvTranspose2d(8, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1)]
    net = nn.Sequential(*down, *up, nn.Sigmoid())
    optimizer, good, count = torch.optim.Adam(net.parameters(), 1e-3), torch.rand(96, 1, 48, 48), 0
    for _ in range(5):
        for (x,) in DataLoader(TensorDataset(good), 16, shuffle=True):
            loss = F.mse_loss(net(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
    net.eval()
    with torch.no_grad():
        scores = [(net(x) - x).square().mean((1, 2, 3)) for x in torch.rand(96, 1, 48, 48).split(24)]
    torch.cat(scores).quantile(0.95).item()
    return count


def dcgan_epochs():
    """DCGAN: three epochs of seven batches, each with real and false images for the critic, then for the generator; a sheet of samples."""
    up = [nn.ConvTranspose2d(32, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    for before, width in ((32, 24), (24, 12)):
        up += [nn.ConvTranspose2d(before, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    generator = nn.Sequential(*up, nn.ConvTranspose2d(12, 3, 4, 2, 1, bias=False), nn.Tanh())
    down = [nn.Conv2d(3, 12, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(12, 24, 4, 2, 1, bias=False), nn.BatchNorm2d(24), nn.LeakyReLU(0.2)]
    critic = nn.Sequential(*down, nn.Conv2d(24, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2), nn.Conv2d(32, 1, 4), nn.Flatten(0))
    of_generator, of_critic = (torch.optim.Adam(net.parameters(), 2e-4, (0.5, 0.999)) for net in (generator, critic))
    loss, fixed, count = nn.BCEWithLogitsLoss(), torch.randn(25, 32, 1, 1), 0
    for _ in range(3):
        for x, _ in DataLoader(TensorDataset(*images(112)), 16, shuffle=True):
            of_critic.zero_grad()
            loss(critic(x), torch.ones(len(x))).backward()
            made = generator(torch.randn(len(x), 32, 1, 1))
            loss(critic(made.detach()), torch.zeros(len(x))).backward()
            of_critic.step()
            of_generator.zero_grad()
            loss(critic(made), torch.ones(len(x))).backward()
            of_generator.step()
            count += 1  # a batch of training, with both networks' updates
        with torch.no_grad():
            generator(fixed)
    return count


class Squeezed(nn.Module):
    """A residual block with squeeze and excitation."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.first, self.second = block(before, width, 3, stride), nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width))
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, 4, 1), nn.ReLU(), nn.Conv2d(4, width, 1), nn.Sigmoid())
        self.short = nn.Conv2d(before, width, 1, stride)

    def forward(self, x):
        y = self.second(self.first(x))
        return F.relu(self.short(x) + y * self.gate(y))


def service_of_batches():
    """A service: requests of 45 moments gather to batches of 1 to 12 images, which one call answers. A batch is an iteration."""
    body = [block(3, 16, 7, 2), nn.MaxPool2d(2), Squeezed(16, 16, 1), Squeezed(16, 32, 2), Squeezed(32, 48, 2)]
    net, count = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10)).eval(), 0
    with torch.inference_mode():
        net(torch.zeros(1, 3, 96, 96))
        count += 1  # the call that warms up
        for waiting in torch.poisson(torch.full((45,), 4.0)).clamp(1, 12).int().tolist():
            net(torch.stack([torch.rand(3, 96, 96) for _ in range(waiting)])).softmax(1).max(1)
            count += 1  # a batch that is answered
    return count


def contrastive_pretraining():
    """SimCLR: three epochs of eight batches, both views in one call; after each, neighbours among the features of 64 and 32 images."""
    body = nn.Sequential(block(3, 16, 5, 2), block(16, 32, 3, 2), block(32, 48), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    head = nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 24))
    optimizer, count = torch.optim.AdamW([*body.parameters(), *head.parameters()], 3e-4, weight_decay=1e-4), 0
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 24)
    data, known, asked = TensorDataset(*images(128)), images(64), images(32)
    for _ in range(3):
        for x, _ in DataLoader(data, 16, shuffle=True, drop_last=True):
            views = torch.cat([x + 0.1 * torch.randn_like(x), x.flip(3) * (0.8 + 0.4 * torch.rand(len(x), 1, 1, 1))])
            z = F.normalize(head(body(views)))
            alike = (z @ z.T / 0.2).fill_diagonal_(-1e9)
            loss = F.cross_entropy(alike, torch.arange(len(z)).roll(len(x)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            count += 1  # a batch of training
        body.eval()
        with torch.no_grad():
            bank = torch.cat([body(x) for x in known[0].split(32)])
            nearest = torch.cdist(body(asked[0]), bank).topk(5, largest=False).indices
            (known[1][nearest].mode(1).values == asked[1]).float().mean().item()
        body.train()
    return count


def cross_validation():
    """Five folds of 100 images, each with a new network: three epochs of five batches of 16, and the fold's 20 images at the end."""
    data, count, scores = TensorDataset(*images(100, 40)), 0, []
    for part in torch.randperm(100).split(20):
        rest = [i for i in range(100) if i not in set(part.tolist())]
        net = nn.Sequential(block(3, 12, 5), nn.MaxPool2d(2), block(12, 24), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2400, 10))
        optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
        for _ in range(3):
            for x, y in DataLoader(Subset(data, rest), 16, shuffle=True):
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()
                count += 1  # a batch of training
        scores.append(evaluate(net, DataLoader(Subset(data, part.tolist()), 20)))
    return count


def search_of_parameters():
    """A grid of two widths, two rates and two sizes of the batch: for each a network, one epoch (5 or 10 batches), and a validation."""
    training, validation = random_split(TensorDataset(*images(192)), [160, 32])
    count, best = 0, math.inf
    for width, rate, batch in itertools.product((8, 16), (1e-2, 1e-3), (16, 32)):
        body = [block(3, width), nn.MaxPool2d(2), block(width, 2 * width), nn.MaxPool2d(2), block(2 * width, 2 * width)]
        net = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 10))
        optimizer = torch.optim.Adam(net.parameters(), rate)
        for x, y in DataLoader(training, batch, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            count += 1  # a batch of training
        best = min(best, evaluate(net, DataLoader(validation, 16)))
    return count


class Patches(nn.Module):
    """A vision transformer with a token for the class."""

    def __init__(self, width=48):
        super().__init__()
        self.cut, self.token, self.places = nn.Conv2d(3, width, 8, 8), nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, 17, width))
        layer = nn.TransformerEncoderLayer(width, 4, 96, 0.1, "gelu", batch_first=True, norm_first=True)
        self.layers, self.last = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), nn.Linear(width, 10)

    def forward(self, x):
        x = torch.cat([self.token.expand(len(x), -1, -1), self.cut(x).flatten(2).transpose(1, 2)], 1)
        return self.last(self.layers(x + self.places)[:, 0])


def vision_accumulation():
    """A vision transformer in bfloat16: three epochs of eight batches of 4, the optimizer steps after every fourth; a batch of validation."""
    net = Patches()
    optimizer, count = torch.optim.AdamW(net.parameters(), 1e-3, weight_decay=0.05), 0
    training, validation = DataLoader(TensorDataset(*images(32)), 4, shuffle=True), DataLoader(TensorDataset(*images(16)), 16)
    for _ in range(3):
        for x, y in training:
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(net(x), y)
            (loss / 4).backward()
            count += 1  # a batch of training, not a step of the optimizer
            if count % 4 == 0:
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            evaluate(net, validation)
    return count


class Augmented(Dataset):
    """Images that a worker crops and flips."""

    def __init__(self, count):
        self.x, self.y = images(count, 40)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        top, left = torch.randint(0, 9, (2,)).tolist()
        crop = self.x[i, :, top : top + 32, left : left + 32]
        return (crop.flip(2) if torch.rand(()) < 0.5 else crop), self.y[i]


def loader_workers():
    """Two workers load; mixed images, a cosine, an average of the weights: three epochs of nine batches, the last of 12; then the average sees 40."""
    net = nn.Sequential(block(3, 16), Squeezed(16, 16, 1), Squeezed(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True)
    optimizer, count = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, weight_decay=1e-4), 0
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=27)
    training = DataLoader(Augmented(140), 16, shuffle=True, num_workers=2, persistent_workers=True)
    validation = DataLoader(Augmented(40), 20, num_workers=2)
    for _ in range(3):
        for x, y in training:
            part, order = torch.distributions.Beta(0.4, 0.4).sample().item(), torch.randperm(len(x))
            scores = net(part * x + (1 - part) * x[order])
            loss = part * F.cross_entropy(scores, y) + (1 - part) * F.cross_entropy(scores, y[order])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            average.update_parameters(net)
            count += 1  # a batch of training
        evaluate(average, validation)
    return count


def batch_size_benchmark():
    """Images per second with batches of 1, 2, 4, 8 and 16: two calls to warm up and six that are timed, each call an iteration."""
    body = [block(3, 16, 5, 2), block(16, 32, 3, 2), block(32, 32), block(32, 64, 3, 2), block(64, 64)]
    net, count, speed = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 100)).eval(), 0, {}
    with torch.inference_mode():
        for batch in (1, 2, 4, 8, 16):
            x = torch.randn(batch, 3, 128, 128)
            for _ in range(2):
                net(x)
                count += 1  # a call to warm up
            start = time.perf_counter()
            for _ in range(6):
                net(x)
                count += 1  # a call that is timed
            speed[batch] = 6 * batch / (time.perf_counter() - start)
    return count


class OneStage(nn.Module):
    """A detector with two grids of different cells: for each cell a box, whether it has an object, and a class."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(block(3, 16, 3, 2), block(16, 24, 3, 2), block(24, 32, 3, 2), block(32, 32))
        self.deep = nn.Sequential(block(32, 48, 3, 2), block(48, 32, 1))
        self.fine, self.coarse = nn.Sequential(block(64, 32), nn.Conv2d(32, 8, 1)), nn.Sequential(block(32, 48), nn.Conv2d(48, 8, 1))

    def forward(self, x):
        x = self.body(x)
        deep = self.deep(x)
        return self.fine(torch.cat([x, F.interpolate(deep, scale_factor=2)], 1)), self.coarse(deep)


def one_stage_detector():
    """Two epochs of 11 batches, the last of 4 images; after each, the boxes of 12 images are found one image at a time."""
    net = OneStage()
    optimizer, count = torch.optim.SGD(net.parameters(), 1e-2, momentum=0.937, nesterov=True), 0
    x, held = torch.rand(84, 3, 96, 96), torch.rand(12, 3, 96, 96)
    for _ in range(2):
        for (batch,) in DataLoader(TensorDataset(x), 8, shuffle=True):
            loss = 0
            for grid in net(batch):
                object_here = (torch.rand_like(grid[:, 0]) < 0.1).float()
                boxes = (F.smooth_l1_loss(grid[:, :4], torch.rand_like(grid[:, :4]), reduction="none").mean(1) * object_here).sum()
                classes = F.cross_entropy(grid[:, 5:], torch.randint(0, 3, object_here.shape))
                loss = loss + boxes / object_here.sum().clamp(1) + F.binary_cross_entropy_with_logits(grid[:, 4], object_here) + classes
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
        net.eval()
        with torch.no_grad():
            for image in held:
                torch.cat([grid[0, 4].sigmoid().flatten() for grid in net(image[None])]).topk(10)
        net.train()
    return count


class Variational(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(1568, 16))
        first = [nn.Linear(8, 1568), nn.ReLU(), nn.Unflatten(1, (32, 7, 7))]
        self.decoder = nn.Sequential(*first, nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, x):
        mean, spread = self.encoder(x).chunk(2, 1)
        return self.decoder(mean + torch.randn_like(mean) * (spread / 2).exp()), mean, spread


def variational_epochs():
    """The example of PyTorch: four epochs of six batches, the last of 16 digits; after each a test of two batches, and 64 samples."""
    net = Variational()
    optimizer, count = torch.optim.Adam(net.parameters(), 1e-3), 0

    def loss(x):
        made, mean, spread = net(x)
        return F.binary_cross_entropy_with_logits(made, x, reduction="sum") - 0.5 * (1 + spread - mean.square() - spread.exp()).sum()

    training, test = DataLoader(torch.rand(176, 1, 28, 28), 32, shuffle=True), DataLoader(torch.rand(64, 1, 28, 28), 32)
    for _ in range(4):
        net.train()
        for x in training:
            optimizer.zero_grad()
            loss(x).backward()
            optimizer.step()
            count += 1  # a batch of training
        net.eval()
        with torch.no_grad():
            sum(loss(x).item() for x in test)
            net.decoder(torch.randn(64, 8)).sigmoid()
    return count


class Reader(nn.Module):
    """Convolutions see a line of text, then an LSTM in both directions its columns."""

    def __init__(self):
        super().__init__()
        body = [block(1, 16), nn.MaxPool2d(2), block(16, 32), nn.MaxPool2d(2), block(32, 32, 3, (2, 1))]
        self.body = nn.Sequential(*body, nn.AdaptiveAvgPool2d((1, None)))
        self.lstm, self.last = nn.LSTM(32, 24, bidirectional=True), nn.Linear(48, 20)

    def forward(self, x):
        return self.last(self.lstm(self.body(x).squeeze(2).permute(2, 0, 1))[0]).log_softmax(2)


def text_recognition():
    """At most eight epochs of seven batches, each with two of validation; the rate sinks on a plateau, and training ends early."""
    torch.manual_seed(44)
    net, batch = Reader(), 16
    optimizer, count, waited, best, kept = torch.optim.Adam(net.parameters(), 2e-2), 0, 0, math.inf, None
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)

    def loss(found, y):
        return F.ctc_loss(found, y, torch.full((len(y),), found.shape[0]), torch.full((len(y),), y.shape[1]))

    training, validation = (TensorDataset(torch.rand(n, 1, 32, 96), torch.randint(1, 20, (n, 6))) for n in (112, 32))
    for _ in range(8):
        for x, y in DataLoader(training, batch, shuffle=True):
            optimizer.zero_grad()
            loss(net(x), y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            count += 1  # a batch of training
        value = evaluate(net, DataLoader(validation, batch), loss)
        schedule.step(value)
        waited = 0 if value < best else waited + 1
        if value < best:
            best, kept = value, copy.deepcopy(net.state_dict())
        if waited == 2:
            break
    net.load_state_dict(kept)
    return count


class Atrous(nn.Module):
    """DeepLab's parallel convolutions with different dilations."""

    def __init__(self, before, width):
        super().__init__()
        self.parts = nn.ModuleList([nn.Conv2d(before, width, 1), *[nn.Conv2d(before, width, 3, padding=d, dilation=d) for d in (2, 4, 6)]])
        self.whole, self.join = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(before, width, 1)), block(5 * width, width, 1)

    def forward(self, x):
        whole = self.whole(x).expand(-1, -1, *x.shape[2:])
        return self.join(torch.cat([*[part(x) for part in self.parts], whole], 1))


def deeplab_iterations():
    """40 iterations of an endless loader with a polynomial rate; after every tenth, three batches of validation."""
    body = nn.Sequential(block(3, 16, 3, 2), block(16, 24, 3, 2), block(24, 32), Atrous(32, 16), nn.Conv2d(16, 5, 1))
    net = nn.Sequential(body, nn.Upsample(scale_factor=4, mode="bilinear"))
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    schedule, count = torch.optim.lr_scheduler.PolynomialLR(optimizer, 40, 0.9), 0
    data = TensorDataset(torch.rand(28, 3, 64, 64), torch.randint(0, 5, (28, 64, 64)))
    held = TensorDataset(torch.rand(12, 3, 64, 64), torch.randint(0, 5, (12, 64, 64)))
    endless = itertools.chain.from_iterable(itertools.repeat(DataLoader(data, 4, shuffle=True)))
    for x, y in itertools.islice(endless, 40):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        schedule.step()
        count += 1  # a batch of training
        if count % 10 == 0:
            evaluate(net, DataLoader(held, 4))
    return count


class Points(nn.Module):
    """A small PointNet: a network finds a rotation for each cloud, then layers that all points share."""

    def __init__(self):
        super().__init__()
        self.look, self.turn = nn.Sequential(nn.Conv1d(3, 32, 1), nn.ReLU(), nn.Conv1d(32, 64, 1), nn.ReLU()), nn.Linear(64, 9)
        self.body = nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 96, 1), nn.BatchNorm1d(96), nn.ReLU())
        self.last = nn.Sequential(nn.Linear(96, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 8))

    def forward(self, x):
        turn = self.turn(self.look(x).amax(2)).view(-1, 3, 3) + torch.eye(3)
        return self.last(self.body(turn @ x).amax(2))


def clouds_of_points():
    """A first part of the data for two epochs of five batches, then all of it for two epochs of eight; 48 clouds of validation after each epoch."""
    first, more = (TensorDataset(torch.randn(n, 3, 256), torch.randint(0, 8, (n,))) for n in (80, 48))
    validation = DataLoader(TensorDataset(torch.randn(48, 3, 256), torch.randint(0, 8, (48,))), 24)
    net, count = Points(), 0
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.7)
    for data in (first, first, ConcatDataset([first, more]), ConcatDataset([first, more])):
        for x, y in DataLoader(data, 16, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
            count += 1  # a batch of training
        schedule.step()
        evaluate(net, validation)
    return count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if f.__name__ not in ("block", "evaluate", "padded") and not isinstance(f, type)}
