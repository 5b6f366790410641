"""TensorFlow programs of a third blind test, most of them ordinary scripts. As in tensorflow_programs.py each returns how many
iterations of its own loop it has run; where there is training, these are its iterations, without those of a validation."""
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

from tensorflow_programs import compiled, images, network

layers = keras.layers
CLASSES = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class Counted(keras.callbacks.Callback):
    """Counts the batches of training."""

    count = 0

    def on_train_batch_end(self, batch, logs=None):
        self.count += 1


def augmented_fit():
    """Three epochs of 36 images in batches of 8 (the last has 4), each with 12 images of validation that Keras splits off."""
    counted = Counted()
    body = [layers.RandomFlip("horizontal"), layers.RandomContrast(0.2)]
    for width in (8, 16):
        body += [layers.Conv2D(width, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D()]
    net = compiled(keras.Sequential([keras.Input((32, 32, 3)), *body, layers.Flatten(), layers.Dropout(0.3), layers.Dense(10)]))
    net.fit(*images(48), batch_size=8, epochs=3, validation_split=0.25, verbose=0, callbacks=[counted])
    return counted.count


def residual_steps_per_execution():
    """ResNet50: two epochs of four batches that TensorFlow runs in one call. The optimizer counts them."""
    net = keras.applications.ResNet50(input_shape=(32, 32, 3), weights=None, classes=10, classifier_activation=None)
    net.compile(keras.optimizers.SGD(1e-3, momentum=0.9), CLASSES, steps_per_execution=4)
    net.fit(*images(16), batch_size=4, epochs=2, verbose=0)
    return int(net.optimizer.iterations)


def early_stopping():
    """At most twelve epochs of four batches; they end when the loss of two batches of validation has not sunk twice. Brightness tells the class."""
    keras.utils.set_random_seed(41)
    counted, stop = Counted(), keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)
    (x, y), net = images(48), network((8, 16))
    x *= (1 + y[:, None, None, None]) / 10
    net.compile(keras.optimizers.Adam(5e-2), CLASSES, metrics=["accuracy"])
    held = {"validation_data": (x[32:], y[32:]), "validation_batch_size": 8}
    net.fit(x[:32], y[:32], batch_size=8, epochs=12, verbose=0, callbacks=[counted, stop], **held)
    return counted.count


def segmentation_loop():
    """A U-Net in a user's own loop: three epochs of six batches, then two batches of a test and a checkpoint."""
    inputs = keras.Input((32, 32, 3))
    first = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(16, 3, padding="same", activation="relu")(layers.MaxPooling2D()(first))
    x = layers.Concatenate()([first, layers.Conv2DTranspose(8, 2, strides=2, activation="relu")(x)])
    net = keras.Model(inputs, layers.Conv2D(2, 1)(layers.Conv2D(8, 3, padding="same", activation="relu")(x)))
    optimizer, mean = keras.optimizers.Adam(1e-3), keras.metrics.Mean()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            value = CLASSES(y, net(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))
        mean.update_state(value)

    @tf.function
    def test_step(x, y):
        mean.update_state(CLASSES(y, net(x, training=False)))

    x, y = np.random.rand(40, 32, 32, 3).astype("float32"), np.random.randint(0, 2, (40, 32, 32))
    training = tf.data.Dataset.from_tensor_slices((x[:26], y[:26])).shuffle(26).batch(4, drop_remainder=True)
    test = tf.data.Dataset.from_tensor_slices((x[26:38], y[26:38])).batch(6)
    saved, count = tf.train.Checkpoint(model=net, optimizer=optimizer), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            for batch in training:
                train_step(*batch)
                count += 1
            for batch in test:
                test_step(*batch)
            saved.save(folder + "/saved")
    return count


def forecast_fit():
    """Two layers of LSTM see windows of a series: three epochs of seven batches, and two batches of validation after each."""
    series = np.sin(np.arange(120) / 5).astype("float32")[:, None]
    training = keras.utils.timeseries_dataset_from_array(series[:80], series[12:80], 12, batch_size=10)
    validation = keras.utils.timeseries_dataset_from_array(series[80:], series[92:], 12, batch_size=16)
    net, counted = keras.Sequential([keras.Input((12, 1)), layers.LSTM(16, return_sequences=True), layers.LSTM(16), layers.Dense(1)]), Counted()
    net.compile("adam", "mse")
    net.fit(training, validation_data=validation, epochs=3, verbose=0, callbacks=[counted])
    return counted.count


def sentiment_transformer():
    """One block of attention on words: two epochs of eight batches, with validation."""
    inputs = keras.Input((20,))
    x = layers.Embedding(200, 32)(inputs)
    x = layers.LayerNormalization()(x + layers.Dropout(0.1)(layers.MultiHeadAttention(2, 16)(x, x)))
    x = layers.LayerNormalization()(x + layers.Dense(32)(layers.Dense(48, activation="relu")(x)))
    x = layers.Dense(20, activation="relu")(layers.GlobalAveragePooling1D()(x))
    net, counted = keras.Model(inputs, layers.Dense(2, activation="softmax")(x)), Counted()
    net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    words, classes = np.random.randint(0, 200, (80, 20)), np.random.randint(0, 2, 80)
    held = words[64:], classes[64:]
    net.fit(words[:64], classes[:64], batch_size=8, epochs=2, validation_data=held, verbose=0, callbacks=[counted])
    return counted.count


def mixed_bfloat16_fit():
    """Two epochs of seven batches, without validation."""
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    body = [layers.Conv2D(16, 3, padding="same", activation="relu"), layers.MaxPooling2D(), layers.Conv2D(32, 3, padding="same", activation="relu")]
    last = [layers.GlobalAveragePooling2D(), layers.Dense(10), layers.Activation("linear", dtype="float32")]
    net, counted = compiled(keras.Sequential([keras.Input((32, 32, 3)), *body, *last])), Counted()
    net.fit(*images(56), batch_size=8, epochs=2, verbose=0, callbacks=[counted])
    keras.mixed_precision.set_global_policy("float32")
    return counted.count


def video_prediction():
    """Convolutional LSTM: two epochs of four batches of two films of six frames."""
    first = layers.ConvLSTM2D(8, 3, padding="same", return_sequences=True)
    net = keras.Sequential([keras.Input((6, 16, 16, 1)), first, layers.BatchNormalization(), layers.Conv3D(1, 3, padding="same")])
    counted, x = Counted(), np.random.rand(8, 6, 16, 16, 1).astype("float32")
    net.compile("adam", "mse")
    net.fit(x, x, batch_size=2, epochs=2, verbose=0, callbacks=[counted])
    return counted.count


class Distiller(keras.Model):
    """The example of Keras: a student learns a teacher's scores."""

    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
        teacher.trainable = False

    def call(self, x):
        return self.student(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False):
        wanted, found = (tf.nn.softmax(scores / 3) for scores in (self.teacher(x, training=False), y_pred))
        return 0.1 * CLASSES(y, y_pred) + 0.9 * keras.losses.KLDivergence()(wanted, found)


def distillation_fit():
    """Two epochs of ten batches that both networks see, then the student is evaluated."""
    net, counted = Distiller(network((8, 16)), network((16, 24, 32))), Counted()
    net.compile(keras.optimizers.Adam(1e-3))
    net.fit(*images(80), batch_size=8, epochs=2, verbose=0, callbacks=[counted])
    compiled(net.student).evaluate(*images(24), batch_size=8, verbose=0)
    return counted.count


def speech_buckets():
    """Spectrograms of 24, 32 or 48 frames, each batch of one length, by chance: convolutions, then an LSTM."""
    body = [layers.Conv1D(16, 5, strides=2, padding="same", activation="relu"), layers.Conv1D(24, 3, padding="same", activation="relu")]
    net = keras.Sequential([keras.Input((None, 20)), *body, layers.LSTM(16, return_sequences=True), layers.Dense(12)])
    optimizer, chance, count = keras.optimizers.Adam(1e-3), np.random.default_rng(42), 0

    @tf.function(reduce_retracing=True)
    def step(x, y):
        with tf.GradientTape() as tape:
            value = CLASSES(y, net(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))

    for length in chance.permutation([24] * 7 + [32] * 6 + [48] * 5):
        step(tf.random.normal((4, length, 20)), tf.random.uniform((4, length // 2), 0, 12, tf.int32))
        count += 1
    return count


def models_in_turn():
    """Three networks predict the same test set, one after the other, and their scores are averaged: an iteration is a batch of a network."""
    x, count, scores = images(32)[0], 0, []
    for widths in ((8, 16), (12, 16, 24), (8, 12, 12, 16)):
        scores.append(network(widths).predict(x, batch_size=4, verbose=0))
        count += len(x) // 4
    np.mean(scores, 0).argmax(1)
    return count


def progressive_resizing():
    """An epoch with images of 24 pixels, then one with 32 and one with 48, each of six batches and with two batches of validation."""
    body = [layers.Conv2D(8, 3, padding="same", activation="relu"), layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")]
    net = compiled(keras.Sequential([keras.Input((None, None, 3)), *body, layers.GlobalAveragePooling2D(), layers.Dense(10)]))
    counted = Counted()
    for size in (24, 32, 48):
        net.fit(*images(48, size), batch_size=8, epochs=1, validation_data=images(16, size), validation_batch_size=8, verbose=0, callbacks=[counted])
    return counted.count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if not isinstance(f, type)}
