"""TensorFlow programs of a second blind test. As in tensorflow_programs.py each returns how many iterations of its own loop it has run;
where there is training, these are its iterations, without those of an evaluation."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

from tensorflow_programs import compiled, images, network, stepper

layers = keras.layers


class Counted(keras.callbacks.Callback):
    """Counts the batches of training."""

    count = 0

    def on_train_batch_end(self, batch, logs=None):
        self.count += 1


def shuffled_epochs():
    """26 shuffled images in batches of 4: the last of each epoch has 2."""
    data = tf.data.Dataset.from_tensor_slices(images(26)).shuffle(26, seed=1).batch(4).prefetch(1)
    step, count = stepper(network((8, 16))), 0
    for _ in range(3):
        for x, y in data:
            step(x, y)
            count += 1
    return count


def steps_of_accumulation():
    """Keras adds the gradients of four batches."""
    net, counted = network((8, 16)), Counted()
    optimizer = keras.optimizers.Adam(1e-3, gradient_accumulation_steps=4)
    net.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    net.fit(*images(64), batch_size=4, epochs=1, verbose=0, callbacks=[counted])
    return counted.count


class Watched(Counted):
    """After each epoch: predictions of eight images, and a loss of twelve others."""

    def on_epoch_end(self, epoch, logs=None):
        self.model.predict(images(8)[0], batch_size=8, verbose=0)
        self.model.evaluate(*images(12), batch_size=4, verbose=0)


def callback_evaluation():
    watched = Watched()
    compiled(network((8, 16))).fit(*images(20), batch_size=4, epochs=4, verbose=0, callbacks=[watched])
    return watched.count


def train_on_batch():
    """A loop of the user's own, with two batches of validation after every fourth one of training."""
    net, count = compiled(network()), 0
    for _ in range(12):
        net.train_on_batch(*images(4))
        count += 1
        if count % 4 == 0:
            for _ in range(2):
                net.test_on_batch(*images(4))
    return count


def smaller_last_predict():
    """22 images in batches of 4: the sixth batch has 2."""
    network((8, 16)).predict(images(22)[0], batch_size=4, verbose=0)
    return 6


def several_outputs_fit():
    """A class and a box for every image."""
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(layers.Conv2D(16, 3, padding="same", activation="relu")(x))
    classes = layers.Dense(10, name="classes")(layers.GlobalAveragePooling2D()(layers.Conv2D(16, 3, activation="relu")(x)))
    box = layers.Dense(4, name="box")(layers.Flatten()(layers.Conv2D(4, 3, strides=2, activation="relu")(x)))
    net, counted = keras.Model(inputs, {"classes": classes, "box": box}), Counted()
    net.compile("sgd", {"classes": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "box": "mse"})
    x, y = images(40)
    net.fit(x, {"classes": y, "box": np.random.rand(40, 4).astype("float32")}, batch_size=4, epochs=1, verbose=0, callbacks=[counted])
    return counted.count


class Variational(keras.Model):
    def __init__(self):
        super().__init__()
        down = [layers.Conv2D(8, 3, 2, "same", activation="relu"), layers.Conv2D(12, 3, 2, "same", activation="relu")]
        up = [layers.Conv2DTranspose(8, 3, 2, "same", activation="relu"), layers.Conv2DTranspose(3, 3, 2, "same")]
        self.encoder = keras.Sequential([keras.Input((32, 32, 3)), *down, layers.Flatten(), layers.Dense(16)])
        self.decoder = keras.Sequential([keras.Input((8,)), layers.Dense(768, activation="relu"), layers.Reshape((8, 8, 12)), *up])

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mean, spread = tf.split(self.encoder(x, training=True), 2, 1)
            made = self.decoder(mean + tf.exp(spread / 2) * tf.random.normal(tf.shape(mean)), training=True)
            value = tf.reduce_mean((made - x) ** 2) - 0.5 * tf.reduce_mean(1 + spread - mean**2 - tf.exp(spread))
        self.optimizer.apply_gradients(zip(tape.gradient(value, self.trainable_variables), self.trainable_variables))
        return {"loss": value}


def variational_autoencoder():
    """Three epochs of five batches; after the last one, images are made of noise."""
    net, counted = Variational(), Counted()
    net.compile(keras.optimizers.Adam(1e-3))
    net.fit(images(20)[0], batch_size=4, epochs=3, verbose=0, callbacks=[counted])
    net.decoder(tf.random.normal((6, 8)))
    return counted.count


def sentences_fit():
    """Words, a convolution, and an LSTM in both directions."""
    recurrent = layers.Bidirectional(layers.LSTM(12))
    net = keras.Sequential([keras.Input((14,)), layers.Embedding(100, 16), layers.Conv1D(16, 3, activation="relu"), recurrent, layers.Dense(10)])
    counted = Counted()
    compiled(net).fit(np.random.randint(0, 100, (36, 14)), np.random.randint(0, 10, 36), batch_size=4, epochs=1, verbose=0, callbacks=[counted])
    return counted.count


def dense_predict():
    keras.applications.DenseNet121(input_shape=(32, 32, 3), weights=None, classes=10).predict(images(12)[0], batch_size=2, verbose=0)
    return 6


def fine_tuning():
    """Five iterations with MobileNet's body frozen, then five of the whole network."""
    body = keras.applications.MobileNetV2(input_shape=(32, 32, 3), alpha=0.35, weights=None, include_top=False, pooling="avg")
    net, counted = keras.Sequential([body, layers.Dense(10)]), Counted()
    for trainable in (False, True):
        body.trainable = trainable
        compiled(net).fit(*images(20), batch_size=4, epochs=1, verbose=0, callbacks=[counted])
    return counted.count


def retraced_shapes():
    """Batches of images of 32 or of 48 pixels, by chance."""
    body = [layers.Conv2D(width, 3, strides=2, padding="same", activation="relu") for width in (8, 16)]
    step = stepper(keras.Sequential([keras.Input((None, None, 3)), *body, layers.GlobalAveragePooling2D(), layers.Dense(10)]))
    chance, count = np.random.default_rng(3), 0
    for _ in range(18):
        x, y = images(4, int(chance.choice([32, 48])))
        step(tf.constant(x), tf.constant(y))
        count += 1
    return count


def folds():
    """Cross-validation: three networks, each with two epochs of four batches and two batches of validation."""
    (x, y), counted = images(24), Counted()
    for fold in range(3):
        inside = np.arange(24) // 8 == fold
        net = compiled(network((8, 16)))
        net.fit(x[~inside], y[~inside], batch_size=4, epochs=2, verbose=0, callbacks=[counted])
        net.evaluate(x[inside], y[inside], batch_size=4, verbose=0)
    return counted.count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if not isinstance(f, type)}
