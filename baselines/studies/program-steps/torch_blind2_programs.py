"""PyTorch programs of a second blind test. As in torch_programs.py each returns how many iterations of its own loop it has run, and
its description says what an iteration is where that could be another."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

from torch_programs import convolutions, images, infer, train


class Grouped(nn.Module):
    """A block of ResNeXt."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.short = nn.Conv2d(before, width, 1, stride)
        layers = [nn.Conv2d(before, width // 2, 1, bias=False), nn.BatchNorm2d(width // 2), nn.ReLU()]
        layers += [nn.Conv2d(width // 2, width // 2, 3, stride, 1, groups=8, bias=False), nn.BatchNorm2d(width // 2), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Conv2d(width // 2, width, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        return F.relu(self.short(x) + self.body(x))


def resnext_training():
    """Grouped convolutions, channels last."""
    blocks = [Grouped(before, width, 2) for before, width in ((16, 32), (32, 64), (64, 128))]
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    last = {"memory_format": torch.channels_last}
    return train(net.to(**last), [(x.to(**last), y) for x, y in (images(batch=16) for _ in range(7))])


class Wave(nn.Module):
    """A WaveNet: two stacks of dilated causal convolutions with gates, and 1x1 convolutions."""

    def __init__(self, width=12):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, width, 1), nn.Conv1d(width, 16, 1)
        self.gates = nn.ModuleList([nn.Conv1d(width, 2 * width, 2, dilation=2**i) for _ in range(2) for i in range(4)])
        self.mixes = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in self.gates])

    def forward(self, x):
        x, total = self.first(x), 0
        for gate, mix in zip(self.gates, self.mixes):
            a, b = gate(F.pad(x, (gate.dilation[0], 0))).chunk(2, 1)
            y = mix(a.tanh() * b.sigmoid())
            x, total = x + y, total + y
        return self.last(F.relu(total))


def wavenet_training():
    return train(Wave(), [(torch.randn(16, 1, 64), torch.randint(0, 16, (16, 64))) for _ in range(10)])


def meta_learning():
    """MAML: an iteration is a step of the outer optimizer. It has three tasks, each with two inner steps and a loss of other images."""
    body = [nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU()]
    net = nn.Sequential(*body, nn.Flatten(), nn.Linear(392, 10))
    optimizer, count = torch.optim.Adam(net.parameters()), 0
    for _ in range(6):
        total = 0
        for _ in range(3):
            weights = dict(net.named_parameters())
            for _ in range(2):
                x, y = images(batch=5)
                loss = F.cross_entropy(torch.func.functional_call(net, weights, x), y)
                slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
                weights = {name: weight - 0.01 * slope for (name, weight), slope in zip(weights.items(), slopes)}
            x, y = images(batch=10)
            total = total + F.cross_entropy(torch.func.functional_call(net, weights, x), y)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        count += 1
    return count


class Experts(nn.Module):
    """Every image goes to one of four experts, by a noisy choice."""

    def __init__(self):
        super().__init__()
        self.first, self.router, self.last = nn.Conv2d(3, 8, 3, stride=2), nn.Linear(8, 4), nn.Linear(12, 10)
        self.experts = nn.ModuleList([nn.Conv2d(8, 12, 3) for _ in range(4)])

    def forward(self, x):
        x = F.relu(self.first(x))
        choice = (self.router(x.mean((2, 3))) + torch.randn(len(x), 4)).argmax(1)
        out = x.new_zeros(len(x), 12)
        for i, expert in enumerate(self.experts):
            chosen = (choice == i).nonzero()[:, 0]
            if len(chosen):
                out = out.index_copy(0, chosen, F.relu(expert(x[chosen])).mean((2, 3)))
        return self.last(out)


def mixture_of_experts():
    torch.manual_seed(11)
    return train(Experts(), [images(batch=8) for _ in range(14)])


def test_time_augmentation():
    """An iteration is an image: the network sees it in three sizes, each as it is and flipped."""
    net, count = convolutions([8, 16]).eval(), 0
    with torch.no_grad():
        for _ in range(8):
            image, outs = images(batch=1, size=128)[0], []
            for size in (96, 128, 160):
                x = F.interpolate(image, size=size)
                outs += [net(x), net(x.flip(3))]
            torch.stack(outs).softmax(2).mean(0).argmax()
            count += 1
    return count


class Hourglass(nn.Module):
    """A U-Net of three levels."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.first, self.last = nn.Conv2d(inputs, 8, 3, padding=1), nn.Conv2d(16, outputs, 3, padding=1)
        self.down = nn.ModuleList([nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.Conv2d(12, 16, 3, stride=2, padding=1)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(16, 12, 2, stride=2), nn.ConvTranspose2d(24, 8, 2, stride=2)])

    def forward(self, x):
        first = F.relu(self.first(x))
        second = F.relu(self.down[0](first))
        x = torch.cat([second, F.relu(self.up[0](F.relu(self.down[1](second))))], 1)
        return self.last(torch.cat([first, F.relu(self.up[1](x))], 1))


def sliding_windows():
    """Segmentation of large images: an iteration is an image, whose 10 windows pass the network in batches of 4, 4 and 2."""
    net, count = Hourglass(3, 1).eval(), 0
    with torch.no_grad():
        for _ in range(8):
            windows = torch.randn(3, 56, 128).unfold(1, 32, 24).unfold(2, 32, 24).flatten(1, 2).transpose(0, 1)
            torch.cat([net(some) for some in windows.split(4)])
            count += 1
    return count


class Words(nn.Module):
    """A transformer's decoder that keeps the keys and values of the words before."""

    def __init__(self, width=64, depth=3):
        super().__init__()
        self.words, self.last = nn.Embedding(50, width), nn.Linear(width, 50)
        shapes = {"in": (width, 3 * width), "out": (width, width), "up": (width, 4 * width), "down": (4 * width, width)}
        self.blocks = nn.ModuleList([nn.ModuleDict({name: nn.Linear(*shape) for name, shape in shapes.items()}) for _ in range(depth)])

    def forward(self, words, cache):
        x = self.words(words)
        for i, block in enumerate(self.blocks):
            q, k, v = block["in"](x).chunk(3, 2)
            if i in cache:
                k, v = torch.cat([cache[i][0], k], 1), torch.cat([cache[i][1], v], 1)
            cache[i] = k, v
            x = x + block["out"](F.scaled_dot_product_attention(q, k, v, is_causal=len(cache[i][0][0]) == len(words[0])))
            x = x + block["down"](F.gelu(block["up"](x)))
        return self.last(x[:, -1:])


def cached_decoding():
    """An iteration is a new word: the first sees the prompt of 12 words, each later one only the word before. In bfloat16."""
    torch.manual_seed(12)
    net = Words().eval().bfloat16()
    words, cache, count = torch.randint(0, 50, (2, 12)), {}, 0
    with torch.no_grad():
        for _ in range(25):
            words = net(words, cache).argmax(2)
            count += 1
    return count


def beam_search():
    """Captions: an iteration is an image, whose three best sentences grow word by word until one of 4 to 8 words is the last."""
    torch.manual_seed(13)
    net, words, last = convolutions([8, 16]).eval(), nn.LSTM(10, 16, num_layers=2).eval(), nn.Linear(16, 10)
    count = 0
    with torch.no_grad():
        for _ in range(8):
            x, state = net(images(batch=1, size=96)[0])[None].repeat(1, 3, 1), None
            for _ in range(int(torch.randint(4, 9, (1,)))):
                out, state = words(x, state)
                scores = last(out[0]).log_softmax(1)
                best = scores.flatten().topk(3).indices
                state = tuple(one[:, best // 10].contiguous() for one in state)
                x = F.one_hot(best % 10, 10).float()[None]
            count += 1
    return count


def policy_gradient():
    """An iteration is an episode of 5 to 12 frames, each seen alone, and then one update with all of them."""
    torch.manual_seed(14)
    body = [nn.Conv2d(4, 8, 8, stride=4), nn.ReLU(), nn.Conv2d(8, 16, 4, stride=2), nn.ReLU()]
    net = nn.Sequential(*body, nn.Flatten(), nn.Linear(1296, 6))
    optimizer, count = torch.optim.Adam(net.parameters()), 0
    for _ in range(9):
        frames, actions = [], []
        with torch.no_grad():
            for _ in range(int(torch.randint(5, 13, (1,)))):
                frames.append(torch.randn(1, 4, 84, 84))
                actions.append(torch.distributions.Categorical(logits=net(frames[-1])).sample())
        optimizer.zero_grad()
        (F.cross_entropy(net(torch.cat(frames)), torch.cat(actions), reduction="none") * torch.randn(len(frames))).mean().backward()
        optimizer.step()
        count += 1
    return count


def averaged_evaluation():
    """In bfloat16. Gradients are clipped, and after every fourth iteration of training the averaged model is evaluated with three batches."""
    net = convolutions([8, 16])
    averaged = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer, count = torch.optim.AdamW(net.parameters()), 0
    for _ in range(16):
        x, y = images(batch=4)
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        averaged.update_parameters(net)
        count += 1
        if count % 4 == 0:
            with torch.autocast("cpu", torch.bfloat16):
                infer(averaged, images(batch=8)[0], 3)
    return count


class Pyramid(nn.Module):
    """A detector of three levels of features, with one head for all of them."""

    def __init__(self, width=12):
        super().__init__()
        self.body = nn.ModuleList([nn.Conv2d(before, width, 3, stride=2, padding=1) for before in (3, width, width)])
        self.side = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in self.body])
        self.head = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 5, 3, padding=1))

    def forward(self, x):
        levels, outs, above = [], [], 0
        for layer in self.body:
            x = F.relu(layer(x))
            levels.append(x)
        for layer, level in zip(reversed(self.side), reversed(levels)):
            above = layer(level) + (F.interpolate(above, scale_factor=2) if outs else 0)
            outs.append(self.head(above).flatten(2))
        return torch.cat(outs, 2)


def feature_pyramid_training():
    net = Pyramid()
    optimizer, count = torch.optim.SGD(net.parameters(), 1e-3), 0
    for _ in range(8):
        optimizer.zero_grad()
        net(images(size=64)[0]).square().mean().backward()
        optimizer.step()
        count += 1
    return count


def diffusion_with_samples():
    """An iteration is one of training, with a random time for each image. After every fifth one, samples in six steps without noise."""
    torch.manual_seed(15)
    net = Hourglass(4, 3)
    optimizer, count = torch.optim.Adam(net.parameters()), 0
    for _ in range(15):
        x, time = images(batch=4)[0], torch.rand(4, 1, 1, 1)
        noise = torch.randn_like(x)
        optimizer.zero_grad()
        seen = torch.cat([(1 - time).sqrt() * x + time.sqrt() * noise, time.expand(4, 1, 32, 32)], 1)
        F.mse_loss(net(seen), noise).backward()
        optimizer.step()
        count += 1
        if count % 5 == 0:
            with torch.no_grad():
                x = torch.randn(2, 3, 32, 32)
                for i in reversed(range(6)):
                    x = x - net(torch.cat([x, torch.full((2, 1, 32, 32), i / 6)], 1)) / 6
    return count


def unfreezing():
    """Six iterations train the last layer only, then eight train all of them."""
    net = convolutions([8, 16, 24])
    for parameter in net[:-1].parameters():
        parameter.requires_grad = False
    count = train(net, [images(batch=4) for _ in range(6)], optimizer=torch.optim.SGD(net[-1].parameters(), 1e-2))
    for parameter in net.parameters():
        parameter.requires_grad = True
    return count + train(net, [images(batch=4) for _ in range(8)])


def growing_batches():
    """The batch doubles after every fifth iteration."""
    return train(convolutions([8, 16]), [images(batch=2 << i // 5) for i in range(20)])


def five_critic_steps():
    """An iteration is five steps of the critic, each with new images, and then one step of the generator."""
    generator = nn.Sequential(nn.ConvTranspose2d(8, 16, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1))
    critic = nn.Sequential(nn.Conv2d(3, 8, 4, stride=2), nn.LeakyReLU(0.2), nn.Conv2d(8, 12, 4, stride=2), nn.Flatten(), nn.Linear(432, 1))
    first, second = (torch.optim.RMSprop(net.parameters(), 1e-4) for net in (generator, critic))
    count = 0
    for _ in range(6):
        for _ in range(5):
            with torch.no_grad():
                fake = generator(torch.randn(4, 8, 16, 16))
            second.zero_grad()
            (critic(fake).mean() - critic(images(batch=4)[0]).mean()).backward()
            second.step()
            with torch.no_grad():
                for parameter in critic.parameters():
                    parameter.clamp_(-0.01, 0.01)
        first.zero_grad()
        critic(generator(torch.randn(4, 8, 16, 16))).mean().neg().backward()
        first.step()
        count += 1
    return count


def truncated_backpropagation():
    """An iteration is a chunk of at most 8 of a sequence's 42 elements, with an update: six for each of four sequences."""
    net, last = nn.LSTM(16, 24), nn.Linear(24, 10)
    optimizer, count = torch.optim.SGD([*net.parameters(), *last.parameters()], 1e-3), 0
    for _ in range(4):
        state = None
        for chunk in torch.randn(42, 4, 16).split(8):
            optimizer.zero_grad()
            out, state = net(chunk, state)
            last(out).square().mean().backward()
            optimizer.step()
            state = tuple(one.detach() for one in state)
            count += 1
    return count


def adversarial_training():
    """An iteration is a batch: three steps change its images against the network, which is then trained with them."""
    net = convolutions([8, 16])
    optimizer, count = torch.optim.SGD(net.parameters(), 1e-3), 0
    for _ in range(8):
        x, y = images(batch=4)
        change = torch.zeros_like(x)
        for _ in range(3):
            change.requires_grad_()
            (slope,) = torch.autograd.grad(F.cross_entropy(net(x + change), y), change)
            change = (change + 0.01 * slope.sign()).clamp(-0.03, 0.03).detach()
        optimizer.zero_grad()
        F.cross_entropy(net(x + change), y).backward()
        optimizer.step()
        count += 1
    return count


def learning_rate_finder():
    """Eight iterations of a copy, each with a larger rate; then twelve of the network itself, and four batches of validation."""
    net = convolutions([8, 16, 24])
    tried = copy.deepcopy(net)
    optimizer = torch.optim.SGD(tried.parameters(), 1e-6)
    count = 0
    for _ in range(8):
        count += train(tried, [images(batch=4)], optimizer=optimizer)
        optimizer.param_groups[0]["lr"] *= 3
    count += train(net, [images(batch=4) for _ in range(12)])
    infer(net, images(batch=4)[0], 4)
    return count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if not isinstance(f, type)}
