"""TensorFlow programs of a sixth blind test, all of them ordinary scripts. As in tensorflow_programs.py each returns how many
iterations of its own loop it has run: batches of training where it trains (without those of validation), else calls of inference."""
import tempfile
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

from tensorflow_programs import images

layers = keras.layers
CLASSES = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


class Counted(keras.callbacks.Callback):
    """Counts the batches of training."""

    count = 0

    def on_train_batch_end(self, batch, logs=None):
        self.count += 1


def dice_loss(y, found):
    part = tf.reduce_sum(y * found, (1, 2))
    return 1 - tf.reduce_mean((2 * part + 1) / (tf.reduce_sum(y, (1, 2)) + tf.reduce_sum(found, (1, 2)) + 1), 1)


def attention_unet_fit():
    """Three epochs of eight batches of 6 images, the last of 4, two of validation; then 12 images are seen as they are and flipped."""
    inputs = keras.Input((48, 48, 1))
    x, kept = inputs, []
    for width in (12, 24):
        x = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same", activation="relu")(x))
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(x)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    for width, one in zip((24, 12), kept[::-1]):
        x = layers.Conv2DTranspose(width, 2, 2, activation="relu")(x)
        gate = layers.ReLU()(layers.Add()([layers.Conv2D(8, 1)(x), layers.Conv2D(8, 1)(one)]))
        one = layers.Multiply()([one, layers.Conv2D(1, 1, activation="sigmoid")(gate)])
        x = layers.Conv2D(width, 3, padding="same", activation="relu")(layers.Concatenate()([x, one]))
    net, counted = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x)), Counted()
    net.compile(keras.optimizers.Adam(1e-3), dice_loss)
    x, y = np.random.rand(58, 48, 48, 1).astype("float32"), np.random.randint(0, 2, (58, 48, 48, 1)).astype("float32")
    net.fit(x[:46], y[:46], batch_size=6, epochs=3, validation_data=(x[46:], y[46:]), verbose=0, callbacks=[counted])
    plain, flipped = (net.predict(one, batch_size=6, verbose=0) for one in (x[46:], x[46:, :, ::-1]))
    ((plain + flipped[:, :, ::-1]) / 2 > 0.5).mean()
    return counted.count


def patches_of_time_fit():
    """PatchTST: series in patches, two blocks of attention: three epochs of nine batches of 16, the last of 8, two of validation."""
    inputs = keras.Input((96, 3))
    x = layers.Conv1D(32, 12, 12)(inputs)
    x = x + layers.Embedding(8, 32)(tf.range(8))
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 8, dropout=0.1)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(32)(layers.Dense(64, activation="gelu")(x)))
    net, counted = keras.Model(inputs, layers.Dense(24)(layers.Dropout(0.2)(layers.Flatten()(x)))), Counted()
    net.compile(keras.optimizers.AdamW(1e-3), "mse", metrics=["mae"])
    series = np.random.randn(290, 3).cumsum(0).astype("float32")
    windows = keras.utils.timeseries_dataset_from_array
    x, y = series[:266], np.lib.stride_tricks.sliding_window_view(series[:, 0], 24)
    training = windows(x[:231], y[96:232], 96, batch_size=16, shuffle=True)
    net.fit(training, validation_data=windows(x[136:262], y[232:263], 96, batch_size=16), epochs=3, verbose=0, callbacks=[counted])
    return counted.count


def pretrained_table_fit():
    """An autoencoder learns 400 rows with holes in two epochs of seven batches, the last of 16; then its codes and a new layer learn 240
    labelled rows in three epochs of eight, the last of 16, with two of validation."""
    inputs = keras.Input((24,))
    x = layers.Dropout(0.2)(inputs)
    for width in (96, 48):
        x = layers.BatchNormalization()(layers.Dense(width, activation="relu")(x))
    encoder = keras.Model(inputs, x)
    decoded = layers.Dense(24)(layers.Dense(96, activation="relu")(encoder.output))
    counted, rows = Counted(), np.random.randn(400, 24).astype("float32")
    pretrained = keras.Model(inputs, decoded)
    pretrained.compile("adam", "mse")
    pretrained.fit(rows, rows, batch_size=64, epochs=2, verbose=0, callbacks=[counted])
    net = keras.Sequential([encoder, layers.Dense(32, activation="relu"), layers.Dropout(0.3), layers.Dense(1, activation="sigmoid")])
    net.compile(keras.optimizers.Adam(5e-4), "binary_crossentropy", metrics=["accuracy"])
    y = np.random.randint(0, 2, 304)
    net.fit(rows[:240], y[:240], batch_size=32, epochs=3, validation_data=(rows[240:304], y[240:]), verbose=0, callbacks=[counted])
    return counted.count


@tf.custom_gradient
def reversed_gradient(x):
    return tf.identity(x), lambda gradient: -0.1 * gradient


def domain_adversarial_loop():
    """Three epochs of eight pairs of batches, images with classes and others of a new domain, with one update; after each, three batches
    of a test of the new domain."""
    body = [layers.Conv2D(16, 5, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(24, 5, activation="relu"), layers.MaxPooling2D()]
    features = keras.Sequential([keras.Input((28, 28, 3)), *body, layers.Flatten()])
    classes = keras.Sequential([keras.Input((384,)), layers.Dense(48, activation="relu"), layers.Dense(10)])
    domains = keras.Sequential([keras.Input((384,)), layers.Dense(48, activation="relu"), layers.Dense(1)])
    variables = features.trainable_variables + classes.trainable_variables + domains.trainable_variables
    optimizer, binary, count = keras.optimizers.SGD(1e-2, 0.9), keras.losses.BinaryCrossentropy(from_logits=True), 0

    @tf.function
    def step(known, y, other):
        with tf.GradientTape() as tape:
            seen = features(tf.concat([known, other], 0), training=True)
            where = domains(reversed_gradient(seen), training=True)
            which = tf.concat([tf.zeros((len(known), 1)), tf.ones((len(other), 1))], 0)
            loss = CLASSES(y, classes(seen[: len(known)], training=True)) + binary(which, where)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    answer = tf.function(lambda x: tf.argmax(classes(features(x, training=False), training=False), 1))
    source = tf.data.Dataset.from_tensor_slices(images(96, 28)).shuffle(96).batch(12)
    target = tf.data.Dataset.from_tensor_slices(images(96, 28)[0]).shuffle(96).batch(12)
    test = tf.data.Dataset.from_tensor_slices(images(48, 28)).batch(16)
    for _ in range(3):
        for (known, y), other in tf.data.Dataset.zip(source, target):
            step(known, y, other)
            count += 1  # a batch of training: one of each domain
        np.mean([np.mean(answer(x) == y) for x, y in test])
    return count


def tasks_one_by_one():
    """Four tasks, each two epochs of five batches with some of the older tasks' images (six from the second on); then all tasks so far
    are tested, two batches each."""
    body = [layers.Conv2D(16, 3, 2, "same"), layers.BatchNormalization(), layers.ReLU(), layers.Conv2D(24, 3, 2, "same"), layers.ReLU()]
    net, counted = keras.Sequential([keras.Input((32, 32, 3)), *body, layers.GlobalAveragePooling2D(), layers.Dense(10)]), Counted()
    net.compile(keras.optimizers.Adam(1e-3), CLASSES, metrics=["accuracy"])
    tests, old = [], None
    for _ in range(4):
        x, y = images(40)
        tests.append(images(16))
        if old is None:
            net.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[counted])
            old = x[:8], y[:8]
        else:
            chosen = np.random.permutation(len(old[0]))[:8]
            together = np.concatenate([x, old[0][chosen]]), np.concatenate([y, old[1][chosen]])
            net.fit(*together, batch_size=8, epochs=2, verbose=0, callbacks=[counted])
            old = np.concatenate([old[0], x[:8]]), np.concatenate([old[1], y[:8]])
        for one in tests:
            net.evaluate(*one, batch_size=8, verbose=0)
    return counted.count


def deep_ensemble_fit():
    """Four equal networks learn the same images for two epochs of seven batches, the last of 4; then each predicts a test of three."""
    (x, y), (test, wanted), counted, members = images(52), images(36), Counted(), []
    for _ in range(4):
        inputs = keras.Input((32, 32, 3))
        z = layers.Conv2D(16, 3, 2, "same", activation="relu")(inputs)
        for width in (16, 24):
            short = layers.Conv2D(width, 1, 2)(z)
            one = layers.BatchNormalization()(layers.Conv2D(width, 3, 2, "same", activation="relu")(z))
            z = layers.ReLU()(layers.Add()([short, layers.Conv2D(width, 3, padding="same")(one)]))
        net = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(z)))
        net.compile("adam", CLASSES)
        net.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=[counted])
        members.append(net)
    scores = np.mean([tf.nn.softmax(net.predict(test, batch_size=12, verbose=0)) for net in members], 0)
    np.mean(scores.argmax(1) == wanted)
    return counted.count


def cycle_gan_loop():
    """Two epochs of nine batches of 2 images of either kind: both generators, then both critics; after each, 4 images of one kind change."""

    def generator():
        inputs = keras.Input((32, 32, 3))
        x = layers.Conv2D(12, 7, padding="same", activation="relu")(inputs)
        x = layers.Conv2D(24, 3, 2, "same", activation="relu")(x)
        for _ in range(2):
            x = layers.Add()([x, layers.Conv2D(24, 3, padding="same")(layers.Conv2D(24, 3, padding="same", activation="relu")(x))])
        x = layers.Conv2DTranspose(12, 3, 2, "same", activation="relu")(x)
        return keras.Model(inputs, layers.Conv2D(3, 7, padding="same", activation="tanh")(x))

    def critic():
        body = [layers.Conv2D(16, 4, 2, "same"), layers.LeakyReLU(0.2), layers.Conv2D(24, 4, 2, "same"), layers.LeakyReLU(0.2)]
        return keras.Sequential([keras.Input((32, 32, 3)), *body, layers.Conv2D(1, 4, padding="same")])

    makers, critics, count = [generator(), generator()], [critic(), critic()], 0
    of_makers, of_critics = ([keras.optimizers.Adam(2e-4, 0.5) for _ in range(2)] for _ in range(2))

    @tf.function
    def step(*real):
        with tf.GradientTape(persistent=True) as tape:
            made = [makers[i](real[1 - i], training=True) for i in range(2)]
            back = [makers[1 - i](made[i], training=True) for i in range(2)]
            same = [makers[i](real[i], training=True) for i in range(2)]
            of_real, of_made = ([critics[i](one[i], training=True) for i in range(2)] for one in (real, made))
            cycle = sum(tf.reduce_mean(tf.abs(real[1 - i] - back[i])) for i in range(2))
            loss = [tf.reduce_mean((of_made[i] - 1) ** 2) + 10 * cycle + 5 * tf.reduce_mean(tf.abs(same[i] - real[i])) for i in range(2)]
            judged = [tf.reduce_mean((of_real[i] - 1) ** 2) + tf.reduce_mean(of_made[i] ** 2) for i in range(2)]
        for values, nets, optimizers in ((loss, makers, of_makers), (judged, critics, of_critics)):
            for value, net, optimizer in zip(values, nets, optimizers):
                optimizer.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))

    kinds = [tf.data.Dataset.from_tensor_slices(images(18)[0] * 2 - 1).shuffle(18).batch(2) for _ in range(2)]
    held = images(4)[0] * 2 - 1
    for _ in range(2):
        for pair in tf.data.Dataset.zip(*kinds):
            step(*pair)
            count += 1  # a batch of training, with all four updates
        makers[1](held, training=False)
    return count


class Shown(keras.callbacks.Callback):
    """Two whole images after each epoch."""

    def __init__(self, x):
        super().__init__()
        self.x = x

    def on_epoch_end(self, epoch, logs=None):
        self.model.predict(self.x, verbose=0)


def sub_pixels_fit():
    """ESPCN, the example of Keras: four epochs of seven batches of 8 crops, the last of 4, two of validation; two whole images after each."""
    inputs = keras.Input((None, None, 1))
    x = layers.Conv2D(32, 5, padding="same", activation="relu", kernel_initializer="orthogonal")(inputs)
    x = layers.Conv2D(32, 3, padding="same", activation="relu", kernel_initializer="orthogonal")(x)
    x = layers.Conv2D(16, 3, padding="same", activation="relu", kernel_initializer="orthogonal")(x)
    outputs = layers.Lambda(lambda x: tf.nn.depth_to_space(x, 3))(layers.Conv2D(9, 3, padding="same")(x))
    net, counted = keras.Model(inputs, outputs), Counted()
    net.compile(keras.optimizers.Adam(1e-3), "mse")
    x, y = np.random.rand(68, 24, 24, 1).astype("float32"), np.random.rand(68, 72, 72, 1).astype("float32")
    shown = Shown(np.random.rand(2, 60, 40, 1).astype("float32"))
    net.fit(x[:52], y[:52], batch_size=8, epochs=4, validation_data=(x[52:], y[52:]), verbose=0, callbacks=[counted, shown])
    return counted.count


def imitation_of_an_expert():
    """DAgger: four times a policy sees 24 moments of 4 games, an expert says what was right, and the policy learns all moments so far in
    two epochs of 6, 12, 18, then 24 batches."""
    body = [layers.Conv2D(12, 5, 2, activation="relu"), layers.Conv2D(24, 3, 2, activation="relu"), layers.Conv2D(24, 3, activation="relu")]
    net, counted = keras.Sequential([keras.Input((40, 40, 3)), *body, layers.Flatten(), layers.Dense(32, "relu"), layers.Dense(4)]), Counted()
    net.compile(keras.optimizers.Adam(1e-3), CLASSES)
    seen, right = [], []
    for _ in range(4):
        frame = np.random.rand(4, 40, 40, 3).astype("float32")
        for _ in range(24):
            action = tf.argmax(net(frame, training=False), 1).numpy()
            seen.append(frame)
            right.append((frame.sum((1, 2, 3)) % 4).astype("int64"))
            frame = np.roll(frame, action.sum() + 1, 2) * 0.9 + 0.1 * np.random.rand(4, 40, 40, 3).astype("float32")
        net.fit(np.concatenate(seen), np.concatenate(right), batch_size=16, epochs=2, verbose=0, callbacks=[counted])
    return counted.count


def timed_training():
    """A benchmark of training in float32 and with mixed bfloat16: three iterations to warm up and twelve that are timed for each."""
    x, y = images(8)
    x, y, count, speed = tf.constant(x), tf.constant(y), 0, {}
    for policy in ("float32", "mixed_bfloat16"):
        kind = keras.DTypePolicy(policy)
        inputs = keras.Input((32, 32, 3))
        z = layers.Conv2D(16, 3, 2, "same", activation="relu", dtype=kind)(inputs)
        for width in (16, 24):
            one = layers.DepthwiseConv2D(3, padding="same", activation="relu", dtype=kind)(z)
            z = layers.Concatenate(dtype=kind)([z, layers.Conv2D(width, 1, activation="relu", dtype=kind)(one)])
        z = layers.Conv2D(32, 3, 2, "same", activation="relu", dtype=kind)(z)
        net = keras.Model(inputs, layers.Dense(10, dtype="float32")(layers.GlobalAveragePooling2D(dtype=kind)(z)))
        optimizer = keras.optimizers.SGD(1e-2, 0.9)
        optimizer.build(net.trainable_variables)

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = CLASSES(y, net(x, training=True))
            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
            return loss

        for _ in range(3):
            step().numpy()
            count += 1  # an iteration that warms up
        start = time.perf_counter()
        for _ in range(12):
            step().numpy()
            count += 1  # an iteration that is timed
        speed[policy] = 12 * 8 / (time.perf_counter() - start)
    return count


def saved_model_batches():
    """A network is saved, loaded again, and answers 140 images of a pipeline: 18 batches of 8, the last of 4. An iteration is a batch."""
    inputs = keras.Input((40, 40, 3))
    x = layers.Conv2D(16, 3, 2, "same", activation="relu")(layers.Rescaling(2.0, -1.0)(inputs))
    for width in (16, 24, 32):
        y = layers.Conv2D(8, 1, activation="relu")(x)
        ways = [layers.Conv2D(width // 2, 1, activation="relu")(y), layers.Conv2D(width // 2, 3, padding="same", activation="relu")(y)]
        x = layers.MaxPooling2D()(layers.Concatenate()(ways))
    net, count, answers = keras.Model(inputs, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))), 0, []
    with tempfile.TemporaryDirectory() as folder:
        net.export(folder, verbose=False)
        loaded = tf.saved_model.load(folder)
        for x in tf.data.Dataset.from_tensor_slices(images(140, 40)[0]).batch(8).prefetch(2):
            answers.append(loaded.serve(x).numpy())
            count += 1  # a batch
    np.concatenate(answers).argmax(1)
    return count


class Sounds(keras.Model):
    """The hardest other piece of the same bird, and of another one, in a batch."""

    def __init__(self):
        super().__init__()
        body = [layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(24, 3, activation="relu"), layers.MaxPooling2D()]
        last = [layers.Conv2D(32, 3, activation="relu"), layers.GlobalMaxPooling2D(), layers.Dense(24), layers.UnitNormalization()]
        self.network = keras.Sequential([keras.Input((40, 32, 1)), *body, *last])

    def call(self, x, training=False):
        return self.network(x, training=training)

    def loss_of(self, x, y, training):
        z = self(x, training=training)
        far = 2 - 2 * tf.matmul(z, z, transpose_b=True)
        same = tf.cast(y[:, None] == y[None], "float32")
        return tf.reduce_mean(tf.nn.relu(tf.reduce_max(far * same, 1) - tf.reduce_min(far + 4 * same, 1) + 0.3))

    def train_step(self, pair):
        with tf.GradientTape() as tape:
            loss = self.loss_of(*pair, True)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        return {"loss": loss}

    def test_step(self, pair):
        return {"loss": self.loss_of(*pair, False)}


def hardest_triplets_fit():
    """Voices of birds: three epochs of nine batches of 16 spectrograms, the last of 12, two of validation; then 30 get vectors in two."""
    net, counted = Sounds(), Counted()
    net.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(1e-3, 27)))
    x, y = np.random.rand(202, 40, 32, 1).astype("float32"), np.random.randint(0, 6, 202).astype("int32")
    held = tf.data.Dataset.from_tensor_slices((x[140:172], y[140:172])).batch(16)
    net.fit(x[:140], y[:140], batch_size=16, epochs=3, validation_data=held, verbose=0, callbacks=[counted])
    vectors = net.predict(x[172:], batch_size=15, verbose=0)
    (vectors @ vectors.T).argsort(1)[:, -5:]
    return counted.count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if f.__name__ not in ("dice_loss", "reversed_gradient") and not isinstance(f, type)}
