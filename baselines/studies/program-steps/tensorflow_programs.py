"""Small TensorFlow programs, each a function that returns how many iterations of its loop it has run."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

layers = keras.layers


def network(widths=(8, 16, 24), classes=10):
    body = [layers.Conv2D(width, 3, strides=1 + i % 2, padding="same", activation="relu") for i, width in enumerate(widths)]
    return keras.Sequential([keras.Input((32, 32, 3)), *body, layers.GlobalAveragePooling2D(), layers.Dense(classes)])


def images(count=2, size=32):
    return np.random.rand(count, size, size, 3).astype("float32"), np.random.randint(0, 10, count)


def compiled(net):
    net.compile(keras.optimizers.SGD(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return net


def stepper(net, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)):
    optimizer = keras.optimizers.SGD(1e-3)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, net(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))

    return step


def fit():
    compiled(network()).fit(*images(24), batch_size=2, epochs=1, verbose=0)
    return 12


def fit_with_validation():
    compiled(network((8, 16))).fit(*images(12), batch_size=2, epochs=4, validation_data=images(6), validation_batch_size=2, verbose=0)
    return 24


def predict():
    network().predict(images(30)[0], batch_size=2, verbose=0)
    return 15


def function_inference():
    net = network((8, 16))
    call = tf.function(lambda x: net(x, training=False))
    x = tf.constant(images()[0])
    for _ in range(16):
        call(x)
    return 16


def eager_inference():
    net, x = network((8, 16)), tf.constant(images()[0])
    for _ in range(12):
        net(x, training=False)
    return 12


def equal_blocks():
    body = [layers.Conv2D(12, 3, padding="same", activation="relu") for _ in range(6)]
    net = keras.Sequential([keras.Input((16, 16, 3)), layers.Conv2D(12, 1), *body])
    call = tf.function(lambda x: net(x, training=False))
    x = tf.constant(images(size=16)[0])
    for _ in range(10):
        call(x)
    return 10


def lstm_training():
    net = keras.Sequential([keras.Input((8, 16)), layers.LSTM(24), layers.Dense(10)])
    step = stepper(net)
    x, y = np.random.rand(4, 8, 16).astype("float32"), np.random.randint(0, 10, 4)
    for _ in range(10):
        step(x, y)
    return 10


def lstm_inference():
    net = keras.Sequential([keras.Input((8, 16)), layers.LSTM(24), layers.Dense(10)])
    call = tf.function(lambda x: net(x, training=False))
    x = tf.random.normal((4, 8, 16))
    for _ in range(12):
        call(x)
    return 12


def custom_accumulation():
    net = network((8, 16))
    optimizer = keras.optimizers.SGD(1e-3)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def gradients(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, net(x, training=True))
        return tape.gradient(value, net.trainable_variables)

    total = None
    for i in range(16):
        new = gradients(*images())
        total = new if total is None else [a + b for a, b in zip(total, new)]
        if i % 4 == 3:
            optimizer.apply_gradients(zip(total, net.trainable_variables))
            total = None
    return 16


def products():
    """Equal dense layers and a last one."""
    net = keras.Sequential([keras.Input((32,)), *[layers.Dense(32, activation="relu") for _ in range(6)], layers.Dense(10)])
    call = tf.function(lambda x: net(x, training=False))
    x = tf.random.normal((8, 32))
    for _ in range(12):
        call(x)
    return 12


def attention_training():
    inputs = keras.Input((12, 32))
    x = inputs
    for _ in range(3):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 16)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(32)(layers.Dense(64, activation="relu")(x)))
    step = stepper(keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))))
    x, y = np.random.rand(2, 12, 32).astype("float32"), np.random.randint(0, 10, 2)
    for _ in range(8):
        step(x, y)
    return 8


def mapped_convolutions():
    """The input pipeline filters images with a convolution, in threads of its own."""
    kernel = tf.ones((5, 5, 3, 3)) / 75

    def filtered(x, y):
        return tf.nn.conv2d(x[None], kernel, 1, "SAME")[0], y

    data = tf.data.Dataset.from_tensor_slices(images(24, 40)).map(filtered, num_parallel_calls=2)
    data = data.map(lambda x, y: (x[:32, :32], y)).batch(2).prefetch(2)
    step = stepper(network((8, 16)))
    count = 0
    for x, y in data:
        step(x, y)
        count += 1
    return count


HELPERS = ("network", "images", "compiled", "stepper")
NAMES = {f.__name__: f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and callable(f) and f.__name__ not in HELPERS}
