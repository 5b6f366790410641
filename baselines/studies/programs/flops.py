"""FLOPs of a step of models.py's programs, counted by hand from the papers' layers: no PyTorch. A multiplication and an addition are 2 FLOPs.

Convolutions and products only: normalization, activation, pooling and softmax have none here. Filters that reach into the padding count whole, but
of dilated ones only the taps on the image: as dlroof counted when the runs of this study were stored, before version 2.0.
"""
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))


def taps_on_image(side, filter, rate):
    """Pairs of an output and a tap along one side that lie on the image, one by one; as many outputs as pixels."""
    reach = filter // 2
    return sum(0 <= place + tap * rate < side for place in range(side) for tap in range(-reach, reach + 1))


def of_convolution(batch, side, inputs, outputs, filter, rate=1):
    taps = taps_on_image(side, filter, rate) if rate > 1 else side * filter
    return 2 * batch * inputs * outputs * taps * taps


def of_body(batch, side, dilated):
    """Returns the FLOPs of ResNet-50's first convolution and of all, and the side of its output."""
    side //= 2
    first = of_convolution(batch, side, 3, 64, 7)
    total, side, inputs, rate = first, side // 2, 64, 1
    for width, blocks, stride in STAGES:
        keep = dilated and width >= 256
        rate_before, rate = rate, rate * stride if keep else 1
        for block in range(blocks):
            before = side
            if block == 0 and not keep:
                side //= stride
            total += of_convolution(batch, before, inputs, width, 1) + of_convolution(batch, side, width, 4 * width, 1)
            total += of_convolution(batch, side, width, width, 3, rate_before if block == 0 else rate)
            if block == 0:
                total += of_convolution(batch, side, inputs, 4 * width, 1)
            inputs = 4 * width
    return first, total, side


def of_step(name, size):
    if name == "lstm":
        steps, batch, inputs, hidden, layers = size
        return sum(2 * steps * batch * 4 * hidden * ((inputs if layer == 0 else hidden) + hidden) for layer in range(layers))
    if name == "bert":
        batch, tokens = size
        products = 2 * batch * tokens * (4 * 768 * 768 + 2 * 768 * 3072)
        attention = 2 * 2 * batch * tokens * tokens * 768
        return 12 * (products + attention)
    batch, side = size
    first, total, out = of_body(batch, side, name == "deeplabv3")
    if name == "deeplabv3":
        total += of_convolution(batch, out, 2048, 256, 1) + sum(of_convolution(batch, out, 2048, 256, 3, rate) for rate in (12, 24, 36))
        total += of_convolution(batch, 1, 2048, 256, 1) + of_convolution(batch, out, 1280, 256, 1)
        return total + of_convolution(batch, out, 256, 256, 3) + of_convolution(batch, out, 256, 21, 1)
    total += 2 * batch * 2048 * 1000
    # Backward: gradients of the weights and of the data cost as much as forward each; the image needs none.
    return 3 * total - first if name == "resnet50_train" else total
