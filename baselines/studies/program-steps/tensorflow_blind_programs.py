"""TensorFlow programs that the finder of steps was not tuned on. As in tensorflow_programs.py each returns how many iterations it has run."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

from tensorflow_programs import compiled, images, network, stepper

layers = keras.layers


def mobile_inference():
    net = keras.applications.MobileNetV3Small(input_shape=(64, 64, 3), weights=None, classes=10)
    call = tf.function(lambda x: net(x, training=False))
    x = tf.constant(images(size=64)[0])
    for _ in range(9):
        call(x)
    return 9


def efficient_predict():
    keras.applications.EfficientNetB0(input_shape=(64, 64, 3), weights=None, classes=10).predict(images(14, 64)[0], batch_size=2, verbose=0)
    return 7


def residual_fit():
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(12, 3, padding="same", activation="relu")(inputs)
    for _ in range(3):
        x = layers.Add()([x, layers.Conv2D(12, 1)(layers.Conv2D(12, 3, padding="same", activation="relu")(x))])
    net = compiled(keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))))
    net.fit(*images(20), batch_size=2, epochs=1, verbose=0)
    return 10


def epochs_with_a_smaller_last_batch():
    compiled(network((8, 16))).fit(*images(13), batch_size=2, epochs=3, verbose=0)
    return 21


def autoencoder_training():
    body = [layers.Conv2D(8, 3, 2, "same", activation="relu"), layers.Conv2DTranspose(3, 3, 2, "same")]
    net = keras.Sequential([keras.Input((32, 32, 3)), *body])
    step = stepper(net, keras.losses.MeanSquaredError())
    for _ in range(12):
        x = images()[0]
        step(x, x)
    return 12


def separable_training():
    body = [layers.SeparableConv2D(12, 3, padding="same", activation="relu") for _ in range(3)]
    net = keras.Sequential([keras.Input((24, 24, 3)), *body, layers.GlobalAveragePooling2D(), layers.Dense(10)])
    step = stepper(net)
    for _ in range(9):
        step(*images(size=24))
    return 9


def gated_recurrent_fit():
    net = compiled(keras.Sequential([keras.Input((8, 16)), layers.GRU(24), layers.Dense(10)]))
    net.fit(np.random.rand(22, 8, 16).astype("float32"), np.random.randint(0, 10, 22), batch_size=2, epochs=1, verbose=0)
    return 11


def evaluate_after_training():
    """12 iterations of training, then 5 of inference."""
    net = compiled(network((8, 16)))
    net.fit(*images(24), batch_size=2, epochs=1, verbose=0)
    net.evaluate(*images(10), batch_size=2, verbose=0)
    return 12


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if not isinstance(f, type)}
