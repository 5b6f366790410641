"""PyTorch programs of a sixth blind test, all of them ordinary scripts. As in torch_programs.py each returns how many iterations of
its own loop it has run: batches of training where it trains (without those of validation), else batches or calls of inference."""
import copy
import math
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

from torch_programs import images


def block(before, width, kernel=3, stride=1):
    return nn.Sequential(nn.Conv2d(before, width, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(width), nn.ReLU())


def evaluate(net, batches, loss=F.cross_entropy):
    net.eval()
    with torch.no_grad():
        values = [loss(net(x), y).item() for x, y in batches]
    net.train()
    return sum(values) / len(values)


class Words(nn.Module):
    """PyTorch's example: two layers of LSTM, whose states go on from chunk to chunk."""

    def __init__(self, words=80, width=40):
        super().__init__()
        self.words, self.drop = nn.Embedding(words, width), nn.Dropout(0.2)
        self.lstm, self.last = nn.LSTM(width, width, 2), nn.Linear(width, words)

    def forward(self, x, state):
        y, state = self.lstm(self.drop(self.words(x)), state)
        return self.last(self.drop(y)).flatten(0, 1), state


def word_language_model():
    """Three epochs of 13 chunks of 12 words, the last of 5; after each, five chunks of validation (of half as many texts); at last a test."""
    training, validation, test = (torch.randint(0, 80, (rows, texts)) for rows, texts in ((150, 10), (56, 5), (56, 5)))
    net, rate, best, count = Words(), 5.0, math.inf, 0

    def loss_of(data):
        state, total = None, 0.0
        net.eval()
        with torch.no_grad():
            for i in range(0, len(data) - 1, 12):
                x, y = data[i : min(i + 12, len(data) - 1)], data[i + 1 : i + 13].flatten()
                found, state = net(x, state)
                total += len(x) * F.cross_entropy(found, y).item()
        return total / (len(data) - 1)

    for _ in range(3):
        net.train()
        state = None
        for i in range(0, len(training) - 1, 12):
            x, y = training[i : min(i + 12, len(training) - 1)], training[i + 1 : i + 13].flatten()
            state = state and tuple(one.detach() for one in state)
            net.zero_grad()
            found, state = net(x, state)
            F.cross_entropy(found, y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.25)
            for p in net.parameters():
                p.data.add_(p.grad, alpha=-rate)
            count += 1  # a chunk of training
        value = loss_of(validation)
        best, rate = min(best, value), rate if value < best else rate / 4
    loss_of(test)
    return count


class Listener(nn.Module):
    """Deep Speech 2: convolutions see a spectrogram, then LSTMs in both directions."""

    def __init__(self, letters=20):
        super().__init__()
        one, two = nn.Conv2d(1, 12, (11, 9), 2, (5, 4)), nn.Conv2d(12, 12, (11, 5), (2, 1), (5, 2))
        self.first = nn.Sequential(one, nn.BatchNorm2d(12), nn.Hardtanh(0, 20), two, nn.BatchNorm2d(12), nn.Hardtanh(0, 20))
        self.lstm, self.last = nn.LSTM(12 * 10, 32, 2, batch_first=True, bidirectional=True), nn.Linear(64, letters)

    def forward(self, x):
        return self.last(self.lstm(self.first(x).flatten(1, 2).transpose(1, 2))[0]).log_softmax(2)


def speech_with_ctc():
    """Two epochs of twelve batches of 4 sentences of like length, in any order; after each, three batches are decoded greedily."""
    lengths = (torch.randint(30, 90, (60,)) * 2).sort().values.tolist()
    spectrograms = [torch.randn(1, 40, n) for n in lengths]
    texts = [torch.randint(1, 20, (n // 12,)) for n in lengths]

    def batch(chosen):
        longest = lengths[chosen[-1]]
        x = torch.stack([F.pad(spectrograms[i], (0, longest - lengths[i])) for i in chosen])
        return x, nn.utils.rnn.pad_sequence([texts[i] for i in chosen], True), [lengths[i] // 2 for i in chosen], [len(texts[i]) for i in chosen]

    groups = torch.arange(60).reshape(15, 4).tolist()
    training, held = groups[:4] + groups[5:9] + groups[10:14], [groups[4], groups[9], groups[14]]
    net, count = Listener(), 0
    optimizer = torch.optim.AdamW(net.parameters(), 3e-4)
    for _ in range(2):
        net.train()
        for i in torch.randperm(12).tolist():
            x, y, frames, letters = batch(training[i])
            loss = F.ctc_loss(net(x).transpose(0, 1), y, frames, letters, zero_infinity=True)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            count += 1  # a batch of training
        net.eval()
        with torch.no_grad():
            for chosen in held:
                for one in net(batch(chosen)[0]).argmax(2):
                    one = one.unique_consecutive()
                    one[one > 0].tolist()
    return count


class Hourglass(nn.Module):
    def __init__(self, depth=2, width=24):
        super().__init__()
        self.short, self.down, self.up = block(width, width), block(width, width), block(width, width)
        self.inner = Hourglass(depth - 1, width) if depth > 1 else block(width, width)

    def forward(self, x):
        return self.short(x) + F.interpolate(self.up(self.inner(self.down(F.max_pool2d(x, 2)))), scale_factor=2)


class Pose(nn.Module):
    """Two hourglasses; the second one sees the first one's maps of the joints, too."""

    def __init__(self, joints=8, width=24):
        super().__init__()
        self.first = nn.Sequential(block(3, 12, 7, 2), block(12, width))
        self.glasses, self.maps = nn.ModuleList([Hourglass(), Hourglass()]), nn.ModuleList([nn.Conv2d(width, joints, 1) for _ in range(2)])
        self.back = nn.Conv2d(joints, width, 1)

    def forward(self, x):
        x = self.first(x)
        y = self.glasses[0](x)
        first = self.maps[0](y)
        return first, self.maps[1](self.glasses[1](x + y + self.back(first)))


def pose_estimation():
    """Three epochs of eight batches of 6 images, the last of 4; after each, two batches of validation, as they are and flipped."""
    training, validation = (TensorDataset(torch.rand(n, 3, 48, 48), torch.rand(n, 8, 24, 24)) for n in (46, 12))
    net, count = Pose(), 0
    optimizer = torch.optim.RMSprop(net.parameters(), 2.5e-4)
    for _ in range(3):
        net.train()
        for x, y in DataLoader(training, 6, shuffle=True):
            loss = sum(F.mse_loss(found, y) for found in net(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
        net.eval()
        with torch.no_grad():
            for x, y in DataLoader(validation, 6):
                found = (net(x)[1] + net(x.flip(3))[1].flip(3)) / 2
                (found.flatten(2).argmax(2) == y.flatten(2).argmax(2)).float().mean().item()
    return count


class Translated(nn.Module):
    """pix2pix's U-Net with one skip for each size."""

    def __init__(self):
        super().__init__()
        widths = (12, 24, 32, 32)
        self.down = nn.ModuleList([nn.Conv2d(a, b, 4, 2, 1) for a, b in zip((3, *widths), widths)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(a, b, 4, 2, 1) for a, b in ((32, 32), (64, 24), (48, 12), (24, 3))])
        self.norms = nn.ModuleList([nn.BatchNorm2d(width) for width in (24, 32, 32, 24, 12)])

    def forward(self, x):
        kept = [self.down[0](x)]
        for layer, norm in zip(self.down[1:3], self.norms):
            kept.append(norm(layer(F.leaky_relu(kept[-1], 0.2))))
        x = self.up[0](F.relu(self.down[3](F.leaky_relu(kept[-1], 0.2))))
        for layer, norm, one in zip(self.up[1:], self.norms[2:], kept[::-1]):
            x = layer(F.relu(torch.cat([norm(x), one], 1)))
        return x.tanh()


def paired_translation():
    """pix2pix: two epochs of ten batches of 4 pairs, the last of 2: the critic, then the generator; after each, 3 images are translated."""
    generator = Translated()
    parts = [nn.Conv2d(6, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.LeakyReLU(0.2)]
    critic = nn.Sequential(*parts, nn.Conv2d(32, 1, 4, 1, 1))
    of_generator, of_critic = (torch.optim.Adam(net.parameters(), 2e-4, (0.5, 0.999)) for net in (generator, critic))
    pairs, held, count = TensorDataset(torch.randn(38, 3, 48, 48), torch.randn(38, 3, 48, 48)), torch.randn(3, 3, 48, 48), 0

    def loss(found, real):
        return F.binary_cross_entropy_with_logits(found, torch.full_like(found, real))

    for _ in range(2):
        generator.train()
        for x, y in DataLoader(pairs, 4, shuffle=True):
            made = generator(x)
            of_critic.zero_grad()
            both = loss(critic(torch.cat([x, y], 1)), 1.0) + loss(critic(torch.cat([x, made.detach()], 1)), 0.0)
            both.backward()
            of_critic.step()
            critic.requires_grad_(False)
            of_generator.zero_grad()
            (loss(critic(torch.cat([x, made], 1)), 1.0) + 100 * F.l1_loss(made, y)).backward()
            of_generator.step()
            critic.requires_grad_(True)
            count += 1  # a batch of training, with both networks' updates
        generator.eval()
        with torch.no_grad():
            generator(held)
    return count


class MaskedAutoencoder(nn.Module):
    """An encoder sees a quarter of the patches, a smaller decoder makes all of them."""

    def __init__(self, width=64):
        super().__init__()
        self.patches, self.places = nn.Linear(48, width), nn.Parameter(0.02 * torch.randn(1, 64, width))
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 128, 0.0, "gelu", True, True), 3, enable_nested_tensor=False)
        self.between, self.mask = nn.Linear(width, 32), nn.Parameter(torch.zeros(1, 1, 32))
        self.places_again = nn.Parameter(0.02 * torch.randn(1, 64, 32))
        self.decoder, self.last = nn.TransformerEncoderLayer(32, 2, 64, 0.0, "gelu", True, True), nn.Linear(32, 48)

    def encode(self, patches, kept=None):
        x = self.patches(patches) + self.places
        return self.encoder(x if kept is None else x.gather(1, kept[:, :, None].expand(-1, -1, x.shape[2])))

    def forward(self, patches):
        order = torch.rand(patches.shape[:2]).argsort(1)
        x = self.between(self.encode(patches, order[:, :16]))
        x = torch.cat([x, self.mask.expand(len(x), 48, -1).to(x.dtype)], 1)
        x = x.gather(1, order.argsort(1)[:, :, None].expand(-1, -1, 32))
        return (self.last(self.decoder(x + self.places_again)).float() - patches).square().mean(2).gather(1, order[:, 16:]).mean()


def masked_autoencoder():
    """In bfloat16: two epochs of eight batches without labels; then the encoder stays, and a last layer learns for two epochs of six
    batches with two of validation. An iteration is a batch of either training."""
    torch.backends.mha.set_fastpath_enabled(False)  # fails in bfloat16 by autocast
    net, head, count = MaskedAutoencoder(), nn.Linear(64, 10), 0
    optimizer = torch.optim.AdamW(net.parameters(), 1.5e-4, (0.9, 0.95))

    def patches(x):
        return F.unfold(x, 4, stride=4).transpose(1, 2)

    for _ in range(2):
        for (x,) in DataLoader(TensorDataset(torch.rand(128, 3, 32, 32)), 16, shuffle=True):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = net(patches(x))
            loss.backward()
            optimizer.step()
            count += 1  # a batch of the first training
    net.eval().requires_grad_(False)
    optimizer = torch.optim.SGD(head.parameters(), 0.1, momentum=0.9)
    for _ in range(2):
        for x, y in DataLoader(TensorDataset(*images(96)), 16, shuffle=True):
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.cross_entropy(head(net.encode(patches(x)).mean(1)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of the last layer's training
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            for x, y in DataLoader(TensorDataset(*images(32)), 16):
                (head(net.encode(patches(x)).mean(1)).argmax(1) == y).float().mean().item()
    return count


class Graph(nn.Module):
    """GraphSAGE: a node's features, and the mean of its neighbours'."""

    def __init__(self, widths=(32, 64, 64, 7)):
        super().__init__()
        self.own, self.others = (nn.ModuleList([nn.Linear(a, b) for a, b in zip(widths, widths[1:])]) for _ in range(2))

    def forward(self, x, edges, degree):
        for i, (own, others) in enumerate(zip(self.own, self.others)):
            mean = torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]]) / degree
            x = own(x) + others(mean)
            if i < 2:
                x = F.dropout(x.relu(), 0.5, self.training)
        return x


def nodes_of_a_graph():
    """A graph is one batch, in bfloat16: 40 epochs of one iteration, each with an evaluation of validation and test nodes."""
    x, y, edges = torch.randn(240, 32), torch.randint(0, 7, (240,)), torch.randint(0, 240, (2, 1200))
    degree, part = torch.bincount(edges[1], minlength=240).clamp(1)[:, None], torch.randint(0, 3, (240,))
    net, count, best = Graph(), 0, 0.0
    optimizer = torch.optim.Adam(net.parameters(), 1e-2, weight_decay=5e-4)
    for _ in range(40):
        net.train()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(net(x, edges, degree)[part == 0], y[part == 0])
        loss.backward()
        optimizer.step()
        count += 1  # an iteration of training
        net.eval()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            right = net(x, edges, degree).argmax(1) == y
        best = max(best, right[part == 1].float().mean().item())
    return count


class Player(nn.Module):
    def __init__(self, actions=5):
        super().__init__()
        body = [nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 24, 4, 2), nn.ReLU(), nn.Conv2d(24, 24, 3), nn.ReLU(), nn.Flatten()]
        self.body, self.action, self.value = nn.Sequential(*body, nn.Linear(24 * 9, 64), nn.ReLU()), nn.Linear(64, actions), nn.Linear(64, 1)

    def forward(self, x):
        x = self.body(x)
        return torch.distributions.Categorical(logits=self.action(x)), self.value(x).squeeze(1)


def proximal_policy():
    """PPO: five times 8 games of 12 moves, then three epochs of four batches of 24 moves. An iteration is a batch of training."""
    net, count = Player(), 0
    optimizer = torch.optim.Adam(net.parameters(), 2.5e-4, eps=1e-5)
    seen = torch.rand(8, 4, 56, 56)
    for _ in range(5):
        states, actions, chances, values, rewards = [], [], [], [], []
        with torch.no_grad():
            for _ in range(12):
                policy, value = net(seen)
                action = policy.sample()
                for kept, one in zip((states, actions, chances, values), (seen, action, policy.log_prob(action), value)):
                    kept.append(one)
                rewards.append((action == seen.flatten(1).sum(1).long() % 5).float())
                seen = torch.cat([seen[:, 1:], torch.rand(8, 1, 56, 56)], 1)
            following = net(seen)[1]
        returns = []
        for reward in rewards[::-1]:
            following = reward + 0.99 * following
            returns.insert(0, following)
        data = TensorDataset(*(torch.cat(one) for one in (states, actions, chances, values, returns)))
        for _ in range(3):
            for x, action, before, value, wanted in DataLoader(data, 24, shuffle=True):
                policy, found = net(x)
                gain = wanted - value
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                ratio = (policy.log_prob(action) - before).exp()
                loss = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
                loss = loss + 0.5 * F.mse_loss(found, wanted) - 0.01 * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                optimizer.step()
                count += 1  # a batch of training
    return count


def federated_averaging():
    """Four rounds: three of eight clients learn their own 24 to 52 images for two epochs of 3 to 7 batches; the mean sees two test batches."""
    clients = [TensorDataset(*images(24 + 4 * i)) for i in range(8)]
    body = [nn.Conv2d(3, 12, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    server = nn.Sequential(*body, nn.Flatten(), nn.Linear(24 * 64, 48), nn.ReLU(), nn.Linear(48, 10))
    test, count = DataLoader(TensorDataset(*images(64)), 32), 0
    for _ in range(4):
        learned, many = [], []
        for i in torch.randperm(8)[:3].tolist():
            net = copy.deepcopy(server)
            optimizer = torch.optim.SGD(net.parameters(), 0.05)
            for _ in range(2):
                for x, y in DataLoader(clients[i], 8, shuffle=True):
                    optimizer.zero_grad()
                    F.cross_entropy(net(x), y).backward()
                    optimizer.step()
                    count += 1  # a batch of a client's training
            learned.append(net.state_dict())
            many.append(len(clients[i]))
        server.load_state_dict({name: sum(n * one[name] for n, one in zip(many, learned)) / sum(many) for name in learned[0]})
        evaluate(server, test)
    return count


class Wide(nn.Module):
    """A block of a wide residual network."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.body = nn.Sequential(block(before, width, 3, stride), nn.Dropout(0.2), nn.Conv2d(width, width, 3, 1, 1, bias=False))
        self.short = nn.Conv2d(before, width, 1, stride, bias=False) if before != width else nn.Identity()

    def forward(self, x):
        return F.relu(self.short(x) + self.body(x))


def active_learning():
    """Four times a new network learns all that is labelled (2 to 5 batches, three epochs) and sees a test; the least sure 16 of a pool follow."""
    data, test = TensorDataset(*images(176)), DataLoader(TensorDataset(*images(40)), 20)
    known, count = list(range(32)), 0
    for turn in range(4):
        net = nn.Sequential(block(3, 16), Wide(16, 24, 2), Wide(24, 24, 1), Wide(24, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True)
        for _ in range(3):
            for x, y in DataLoader(Subset(data, known), 16, shuffle=True):
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()
                count += 1  # a batch of training
        evaluate(net, test)
        if turn < 3:
            pool = sorted(set(range(176)) - set(known))
            net.eval()
            with torch.no_grad():
                sure = torch.cat([net(x).softmax(1).max(1).values for x, _ in DataLoader(Subset(data, pool), 32)])
            known += [pool[i] for i in sure.argsort()[:16]]
    return count


class Codes(nn.Module):
    """VQ-VAE: the nearest of 32 learned vectors stands for each place."""

    def __init__(self, width=24):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 3, 1, 1))
        self.codes = nn.Embedding(32, width)
        up = [nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(width, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1)]
        self.up = nn.Sequential(*up)

    def forward(self, x):
        z = self.down(x)
        nearest = torch.cdist(z.permute(0, 2, 3, 1).flatten(0, 2), self.codes.weight).argmin(1)
        code = self.codes(nearest).view(len(z), *z.shape[2:], -1).permute(0, 3, 1, 2)
        return self.up(z + (code - z).detach()), F.mse_loss(code, z.detach()) + 0.25 * F.mse_loss(z, code.detach())


def vector_quantized():
    """Four epochs of seven batches of 12 images, the last of 8, and two of validation; at last 9 images are made of codes by chance."""
    training, validation = (TensorDataset(torch.rand(n, 3, 40, 40)) for n in (80, 24))
    net, count = Codes(), 0
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(4):
        for (x,) in DataLoader(training, 12, shuffle=True):
            made, other = net(x)
            loss = F.mse_loss(made, x) + other
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
        with torch.no_grad():
            sum(F.mse_loss(net(x)[0], x).item() for (x,) in DataLoader(validation, 12))
    with torch.no_grad():
        net.up(net.codes(torch.randint(0, 32, (9, 10, 10))).permute(0, 3, 1, 2)).clamp(0, 1)
    return count


class Inverted(nn.Module):
    """MobileNetV2's block."""

    def __init__(self, before, width, stride):
        super().__init__()
        wide, self.add = 4 * before, stride == 1 and before == width
        one, two = nn.Conv2d(before, wide, 1, bias=False), nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)
        last = [nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width)]
        self.body = nn.Sequential(one, nn.BatchNorm2d(wide), nn.ReLU6(), two, nn.BatchNorm2d(wide), nn.ReLU6(), *last)

    def forward(self, x):
        return x + self.body(x) if self.add else self.body(x)


def timed_training():
    """A benchmark of training: three networks with one batch of random images, four iterations to warm up and twelve that are timed."""
    mobile = [block(3, 12, 3, 2), Inverted(12, 12, 1), Inverted(12, 20, 2), Inverted(20, 20, 1)]
    mobile += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(20, 10)]
    wide = [block(3, 16), Wide(16, 24, 2), Wide(24, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
    plain = [nn.Conv2d(3, 16, 11, 4, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 24, 5, 1, 2), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 36, 10)]
    count, speed = 0, {}
    for name, layers in (("mobile", mobile), ("wide", wide), ("plain", plain)):
        net = nn.Sequential(*layers).train()
        optimizer, (x, y) = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9), images(8, 48)

        def step():
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()

        for _ in range(4):
            step()
            count += 1  # an iteration that warms up
        start = time.perf_counter()
        for _ in range(12):
            step()
            count += 1  # an iteration that is timed
        speed[name] = 12 * len(x) / (time.perf_counter() - start)
    return count


class Inception(nn.Module):
    """Four ways side by side."""

    def __init__(self, before, width):
        super().__init__()
        three, five = nn.Sequential(block(before, 12, 1), block(12, width)), nn.Sequential(block(before, 8, 1), block(8, width, 5))
        self.ways = nn.ModuleList([block(before, width, 1), three, five, nn.Sequential(nn.MaxPool2d(3, 1, 1), block(before, width, 1))])

    def forward(self, x):
        return torch.cat([way(x) for way in self.ways], 1)


def features_of_two_networks():
    """Two networks see every batch of 100 images, and their features go to one table: 13 batches of 8, the last of 4."""
    one = nn.Sequential(block(3, 16, 7, 2), Inception(16, 8), nn.MaxPool2d(2), Inception(32, 10), nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval()
    parts = [block(3, 16, 3, 2), Inverted(16, 16, 1), Inverted(16, 24, 2), Inverted(24, 24, 1), block(24, 48, 1)]
    other, count, table = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten()).eval(), 0, []
    with torch.inference_mode():
        for x, _ in DataLoader(TensorDataset(*images(100, 64)), 8):
            table.append(torch.cat([F.normalize(net(x)) for net in (one, other)], 1).numpy())
            count += 1  # a batch
    return count


class Encoder(nn.Module):
    def __init__(self, layers, width=64, out=32):
        super().__init__()
        self.words, self.places, self.last = nn.Embedding(400, width), nn.Embedding(64, width), nn.Linear(width, out)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 128, 0.0, batch_first=True), layers, enable_nested_tensor=False)

    def forward(self, x):
        return self.last(self.layers(self.words(x) + self.places(torch.arange(x.shape[1])))[:, 0])


def search_with_two_stages():
    """In bfloat16: 64 texts get their vectors in four batches; then 24 questions find 12 texts each, which another network scores in two
    batches. An iteration is a question."""
    torch.backends.mha.set_fastpath_enabled(False)  # fails in bfloat16 by autocast
    first, second, texts, count = Encoder(1).eval(), Encoder(3, out=1).eval(), torch.randint(0, 400, (64, 24)), 0
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        index = F.normalize(torch.cat([first(one).float() for one in texts.split(16)]))
        for n in torch.randint(5, 17, (24,)).tolist():
            question = torch.randint(0, 400, (1, n))
            near = (index @ F.normalize(first(question).float()).T).squeeze(1).topk(12).indices
            pairs = torch.cat([question.expand(12, -1), texts[near]], 1)
            scores = torch.cat([second(one).float() for one in pairs.split(6)]).squeeze(1)
            near[scores.argsort(descending=True)[:3]].tolist()
            count += 1  # a question
    return count


class Operator(nn.Module):
    """A Fourier neural operator: a product with low frequencies, and a 1x1 convolution."""

    def __init__(self, width=16, low=6):
        super().__init__()
        self.low, self.first = low, nn.Conv2d(3, width, 1)
        self.weights = nn.ParameterList([torch.randn(width, width, low, low, dtype=torch.cfloat) / width**2 for _ in range(3)])
        self.layers, self.last = nn.ModuleList([nn.Conv2d(width, width, 1) for _ in range(3)]), nn.Sequential(
            nn.Conv2d(width, 32, 1), nn.GELU(), nn.Conv2d(32, 1, 1)
        )

    def forward(self, x):
        line = torch.linspace(0, 1, x.shape[2])
        x = self.first(torch.cat([x, torch.stack(torch.meshgrid(line, line, indexing="ij")).expand(len(x), -1, -1, -1)], 1))
        for weight, layer in zip(self.weights, self.layers):
            waves = torch.fft.rfft2(x)
            kept = torch.zeros_like(waves)
            kept[:, :, : self.low, : self.low] = torch.einsum("bixy,ioxy->boxy", waves[:, :, : self.low, : self.low], weight)
            x = F.gelu(torch.fft.irfft2(kept, s=x.shape[2:]) + layer(x))
        return self.last(x)


def neural_operator():
    """A field's next moment: three epochs of nine batches of 8, the last of 4, two of validation; at last 8 fields run for ten moments."""
    training, validation = (TensorDataset(torch.randn(n, 1, 32, 32), torch.randn(n, 1, 32, 32)) for n in (68, 16))
    net, count = Operator(), 0
    optimizer = torch.optim.Adam(net.parameters(), 1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for _ in range(3):
        for x, y in DataLoader(training, 8, shuffle=True):
            optimizer.zero_grad()
            ((net(x) - y).flatten(1).norm(dim=1) / y.flatten(1).norm(dim=1)).mean().backward()
            optimizer.step()
            count += 1  # a batch of training
        schedule.step()
        evaluate(net, DataLoader(validation, 8), F.mse_loss)
    field = torch.randn(8, 1, 32, 32)
    with torch.no_grad():
        for _ in range(10):
            field = net(field)
    return count


class Speaker(nn.Module):
    """x-vectors: dilated convolutions over time, then mean and deviation."""

    def __init__(self):
        super().__init__()
        layers = []
        for before, width, kernel, d in ((24, 32, 5, 1), (32, 32, 3, 2), (32, 32, 3, 3), (32, 64, 1, 1)):
            layers += [nn.Conv1d(before, width, kernel, dilation=d), nn.ReLU(), nn.BatchNorm1d(width)]
        self.frames, self.last = nn.Sequential(*layers), nn.Linear(128, 32)

    def forward(self, x):
        x = self.frames(x)
        return F.normalize(self.last(torch.cat([x.mean(2), x.std(2)], 1)))


def speaker_episodes():
    """Prototypes: three epochs of ten episodes of 5 speakers with 3 known and 2 asked pieces; four episodes of validation; 30 trials at last."""
    net, count, scale = Speaker(), 0, nn.Parameter(torch.tensor(10.0))
    optimizer, voices = torch.optim.Adam([*net.parameters(), scale], 1e-3), torch.randn(30, 8, 24, 100)

    def episode(speakers):
        chosen = speakers[torch.randperm(len(speakers))[:5]]
        x = torch.stack([voices[i, torch.randperm(8)[:5]] for i in chosen.tolist()])
        z = net(x.flatten(0, 1)).view(5, 5, -1)
        known = F.normalize(z[:, :3].mean(1), dim=1)
        return F.cross_entropy(scale * z[:, 3:].flatten(0, 1) @ known.T, torch.arange(5).repeat_interleave(2))

    for _ in range(3):
        net.train()
        for _ in range(10):
            loss = episode(torch.arange(20))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # an episode of training
        net.eval()
        with torch.no_grad():
            sum(episode(torch.arange(20, 30)).item() for _ in range(4))
    with torch.no_grad():
        left, right = (net(voices[20:, i].repeat(3, 1, 1)) for i in (0, 1))
        (left * right).sum(1).sort()
    return count


class Writer(nn.Module):
    """A small GPT."""

    def __init__(self, words=120, width=64, heads=4):
        super().__init__()
        self.heads, self.words, self.places = heads, nn.Embedding(words, width), nn.Embedding(48, width)
        one = {"norm": nn.LayerNorm(width), "inner": nn.Linear(width, 3 * width), "outer": nn.Linear(width, width)}
        one["layers"] = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
        self.blocks = nn.ModuleList([nn.ModuleDict(copy.deepcopy(one)) for _ in range(2)])
        self.last = nn.Linear(width, words, bias=False)

    def forward(self, x):
        x = self.words(x) + self.places(torch.arange(x.shape[1]))
        for one in self.blocks:
            q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in one["inner"](one["norm"](x)).chunk(3, 2))
            x = x + one["outer"](F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            x = x + one["layers"](x)
        return self.last(x)


def preference_tuning():
    """DPO in bfloat16: two epochs of nine batches of 4 pairs of answers, the last of 2; a copy that stays sees them, too; three of validation."""
    net, count = Writer(), 0
    copied, optimizer = copy.deepcopy(net).requires_grad_(False), torch.optim.AdamW(net.parameters(), 5e-5)

    def chance(model, x):
        with torch.autocast("cpu", torch.bfloat16):
            found = model(x[:, :-1]).float().log_softmax(2)
        return found.gather(2, x[:, 1:, None]).squeeze(2)[:, 11:].sum(1)

    def loss_of(better, worse):
        both = torch.cat([better, worse])
        with torch.no_grad():
            before = chance(copied, both)
        gain, loss = (chance(net, both) - before).chunk(2)
        return -F.logsigmoid(0.1 * (gain - loss)).mean()

    def pairs(count):
        question = torch.randint(0, 120, (count, 12))
        return TensorDataset(*(torch.cat([question, torch.randint(0, 120, (count, 20))], 1) for _ in range(2)))

    training, validation = pairs(34), pairs(12)
    for _ in range(2):
        for better, worse in DataLoader(training, 4, shuffle=True):
            loss = loss_of(better, worse)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            count += 1  # a batch of training
        with torch.no_grad():
            sum(loss_of(better, worse).item() for better, worse in DataLoader(validation, 4))
    return count


class Basis(nn.Module):
    """N-BEATS: blocks that explain a part of the past, and add to the forecast."""

    def __init__(self, blocks=4, width=64):
        super().__init__()
        one = [nn.Linear(48, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 48 + 12)]
        self.blocks = nn.ModuleList([nn.Sequential(*copy.deepcopy(one)) for _ in range(blocks)])

    def forward(self, x):
        forecast = 0.0
        for one in self.blocks:
            back, part = one(x).split((48, 12), 1)
            x, forecast = x - back, forecast + part
        return forecast


def basis_expansion():
    """N-BEATS in bfloat16: at most four epochs of nine batches of 32 windows, the last of 24, with two of validation; then 16 forecasts."""
    series = torch.randn(420).cumsum(0) / 10
    windows = series.unfold(0, 60, 1)
    training, validation = TensorDataset(windows[:280]), TensorDataset(windows[297:361])
    net, count, best, bad = Basis(), 0, math.inf, 0
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(4):
        for (x,) in DataLoader(training, 32, shuffle=True):
            with torch.autocast("cpu", torch.bfloat16):
                found = net(x[:, :48])
            loss = F.smooth_l1_loss(found.float(), x[:, 48:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            count += 1  # a batch of training
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            value = sum(F.l1_loss(net(x[:, :48]).float(), x[:, 48:]).item() for (x,) in DataLoader(validation, 32))
        best, bad = (value, 0) if value < best else (best, bad + 1)
        if bad == 2:
            break
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        net(windows[-16:, 12:]).float().tolist()
    return count


def distilled_from_a_table():
    """A teacher scores 96 images once, in six batches; a student learns the table in four epochs of twelve batches; both see a test of two."""
    parts = [block(3, 24), Wide(24, 32, 2), Wide(32, 32, 1), Wide(32, 48, 2), Wide(48, 48, 1)]
    teacher = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10)).eval()
    body = [block(3, 12, 3, 2), block(12, 16, 3, 2), block(16, 24)]
    student = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10))
    (x, y), test, count = images(96), DataLoader(TensorDataset(*images(40)), 20), 0
    with torch.no_grad():
        scores = torch.cat([teacher(one) for one in x.split(16)])
    optimizer = torch.optim.Adam(student.parameters(), 2e-3)
    for _ in range(4):
        for one, label, wanted in DataLoader(TensorDataset(x, y, scores), 8, shuffle=True):
            found = student(one)
            soft = F.kl_div((found / 3).log_softmax(1), (wanted / 3).softmax(1), reduction="batchmean")
            optimizer.zero_grad()
            (0.3 * F.cross_entropy(found, label) + 0.7 * 9 * soft).backward()
            optimizer.step()
            count += 1  # a batch of the student's training
    evaluate(teacher, test)
    evaluate(student, test)
    return count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if f.__name__ not in ("block", "evaluate") and not isinstance(f, type)}
