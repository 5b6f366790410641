#!/usr/bin/env python3
"""TensorFlow: ResNet-50 (keras), DeepCAM or an LSTM on random data, in inference or training."""
import os

import steps

options = steps.arguments(__doc__)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402  (after the arguments: it takes seconds)

tf.keras.utils.set_random_seed(1)
layers = tf.keras.layers


def normalized(x):
    return layers.ReLU()(layers.BatchNormalization()(x))


def convolution(x, outputs, filter=3, **more):
    return normalized(layers.Conv2D(outputs, filter, padding="same", use_bias=False, **more)(x))


def twice_as_large(x):
    return normalized(layers.Conv2DTranspose(256, 3, 2, padding="same", use_bias=False)(x))


def unit(x, width, stride, dilation):
    """A bottleneck of ResNet-50 v2: normalized and activated before each convolution."""
    active = normalized(x)
    short = x if stride == 1 and x.shape[-1] == 4 * width else layers.Conv2D(4 * width, 1, stride)(active)
    y = convolution(active, width, 1)
    y = convolution(y, width, 3, strides=stride, dilation_rate=dilation)
    return layers.Conv2D(4 * width, 1)(y) + short


def deepcam():
    """DeepLabv3+ as in the climate-seg-benchmark: ResNet-50 v2 at output stride 8, five branches, a decoder up to full resolution."""
    image = tf.keras.Input((options.size, options.size * 3 // 2, 16))
    x = layers.MaxPooling2D(3, 2, "same")(layers.Conv2D(64, 7, 2, "same")(image))
    low = None
    for width, units, stride, dilation in ((64, 3, 1, 1), (128, 4, 2, 1), (256, 6, 1, 2), (512, 3, 1, 4)):
        for i in range(units):
            x = unit(x, width, stride if i == 0 else 1, dilation)
        low = x if low is None else low
    x = normalized(x)
    whole = layers.ReLU()(layers.Conv2D(256, 1)(layers.GlobalAveragePooling2D(keepdims=True)(x)))
    branches = [convolution(x, 256, 1), *(convolution(x, 256, 3, dilation_rate=rate) for rate in (12, 24, 36)), layers.UpSampling2D(x.shape[1:3])(whole)]
    x = twice_as_large(convolution(layers.Concatenate()(branches), 256, 1))
    x = layers.Concatenate()([x, convolution(low, 48, 1)])
    x = twice_as_large(twice_as_large(convolution(convolution(x, 256), 256)))
    x = layers.Concatenate()([x, convolution(convolution(image, 64), 128)])
    return tf.keras.Model(image, layers.Conv2D(3, 1, activation="softmax")(convolution(convolution(x, 256), 256)))


def labels(shape, classes):
    return tf.random.uniform(shape, maxval=classes, dtype=tf.int32)


if options.model == "resnet50":
    model = tf.keras.applications.ResNet50(weights=None, input_shape=(options.size, options.size, 3))
    x, y = tf.random.normal((options.batch, options.size, options.size, 3)), labels((options.batch,), 1000)
elif options.model == "deepcam":
    image = (options.size, options.size * 3 // 2)
    model, x, y = deepcam(), tf.random.normal((options.batch, *image, 16)), labels((options.batch, *image), 3)
else:
    model = tf.keras.Sequential([tf.keras.Input((options.time_steps, options.inputs)), layers.LSTM(options.hidden), layers.Dense(128, activation="softmax")])
    x, y = tf.random.normal((options.batch, options.time_steps, options.inputs)), labels((options.batch,), 128)


def compiled(call):
    if options.eager:
        return call
    return tf.function(call, jit_compile=True) if options.compile else tf.function(call)


if options.mode == "inference":
    infer = compiled(lambda x: tf.reduce_mean(tf.abs(model(x, training=False))))
    if options.freeze:
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

        infer = convert_variables_to_constants_v2(infer.get_concrete_function(tf.TensorSpec(x.shape, x.dtype)))

    def step():
        result = infer(x)
        return (result[0] if isinstance(result, (list, tuple)) else result).numpy()

else:
    optimizer = tf.keras.optimizers.SGD(1e-4, momentum=0.9)
    loss = tf.keras.losses.SparseCategoricalCrossentropy()
    optimizer.build(model.trainable_variables)

    def gradient_step(x, y):
        with tf.GradientTape() as tape:
            error = loss(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(error, model.trainable_variables), model.trainable_variables))
        return error

    train = compiled(gradient_step)

    def step():
        return train(x, y).numpy()


steps.run(options, step, {"framework": f"tensorflow {tf.__version__}", "threads": len(os.sched_getaffinity(0))})
