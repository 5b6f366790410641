"""TensorFlow programs of a fourth blind test, all of them ordinary scripts. As in tensorflow_programs.py each returns how many
iterations of its own loop it has run: batches of training where it trains (without those of validation), else calls of inference."""
import itertools
import time

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


def sensor_windows_fit():
    """A 1-D network: four epochs of seven batches, the last of 8 windows, two batches of validation; the rate sinks on a plateau."""
    body = [layers.Conv1D(16, 7, padding="same", activation="relu"), layers.MaxPooling1D(2), layers.Conv1D(32, 5, padding="same", activation="relu")]
    net = compiled(keras.Sequential([keras.Input((100, 3)), *body, layers.GlobalMaxPooling1D(), layers.Dropout(0.4), layers.Dense(6)]))
    x, y = np.random.randn(152, 100, 3).astype("float32"), np.random.randint(0, 6, 152)
    counted = Counted()
    callbacks = [counted, keras.callbacks.ReduceLROnPlateau(patience=1)]
    net.fit(x[:104], y[:104], batch_size=16, epochs=4, validation_data=(x[104:], y[104:]), validation_batch_size=24, verbose=0, callbacks=callbacks)
    return counted.count


def denoising_autoencoder_fit():
    """Three epochs of nine batches of digits with noise, two batches of validation; then 40 digits are predicted in five batches."""
    same = {"activation": "relu", "padding": "same"}
    body = [layers.Conv2D(16, 3, **same), layers.MaxPooling2D(), layers.Conv2D(16, 3, **same), layers.MaxPooling2D()]
    body += [layers.Conv2DTranspose(16, 3, strides=2, **same), layers.Conv2DTranspose(16, 3, strides=2, **same)]
    net = keras.Sequential([keras.Input((28, 28, 1)), *body, layers.Conv2D(1, 3, activation="sigmoid", padding="same")])
    net.compile("adam", "binary_crossentropy")
    clean, counted = np.random.rand(112, 28, 28, 1).astype("float32"), Counted()
    noisy = np.clip(clean + 0.4 * np.random.randn(*clean.shape), 0, 1).astype("float32")
    held = {"validation_data": (noisy[72:88], clean[72:88])}
    net.fit(noisy[:72], clean[:72], batch_size=8, epochs=3, shuffle=True, verbose=0, callbacks=[counted], **held)
    net.predict(noisy[72:], batch_size=8, verbose=0)
    return counted.count


class Adversarial(keras.Model):
    """The example of Keras: the critic learns from real and false images in one call, then the generator."""

    def __init__(self, critic, generator):
        super().__init__()
        self.critic, self.generator = critic, generator
        self.of_critic, self.of_generator = keras.optimizers.Adam(3e-4), keras.optimizers.Adam(3e-4)
        self.loss_of = keras.losses.BinaryCrossentropy(from_logits=True)

    def train_step(self, real):
        size = tf.shape(real)[0]
        both = tf.concat([self.generator(tf.random.normal((size, 16))), real], 0)
        labels = tf.concat([tf.ones((size, 1)), tf.zeros((size, 1))], 0)
        with tf.GradientTape() as tape:
            loss = self.loss_of(labels, self.critic(both))
        self.of_critic.apply_gradients(zip(tape.gradient(loss, self.critic.trainable_weights), self.critic.trainable_weights))
        with tf.GradientTape() as tape:
            loss = self.loss_of(tf.zeros((size, 1)), self.critic(self.generator(tf.random.normal((size, 16)))))
        self.of_generator.apply_gradients(zip(tape.gradient(loss, self.generator.trainable_weights), self.generator.trainable_weights))
        return {"loss": loss}


class Sheet(Counted):
    """Three samples after each epoch."""

    def on_epoch_end(self, epoch, logs=None):
        self.model.generator(tf.random.normal((3, 16)))


def adversarial_fit():
    """Three epochs of eight batches; after each, the generator makes three images."""
    leak = {"negative_slope": 0.2}
    down = [layers.Conv2D(12, 4, 2, "same"), layers.LeakyReLU(**leak), layers.Conv2D(24, 4, 2, "same"), layers.LeakyReLU(**leak)]
    critic = keras.Sequential([keras.Input((32, 32, 3)), *down, layers.Flatten(), layers.Dropout(0.2), layers.Dense(1)])
    up = [layers.Dense(8 * 8 * 16), layers.Reshape((8, 8, 16)), layers.Conv2DTranspose(24, 4, 2, "same"), layers.LeakyReLU(**leak)]
    up += [layers.Conv2DTranspose(12, 4, 2, "same"), layers.LeakyReLU(**leak), layers.Conv2D(3, 5, padding="same", activation="sigmoid")]
    net, sheet = Adversarial(critic, keras.Sequential([keras.Input((16,)), *up])), Sheet()
    net.compile()
    net.fit(tf.data.Dataset.from_tensor_slices(images(64)[0]).shuffle(64).batch(8), epochs=3, verbose=0, callbacks=[sheet])
    return sheet.count


def transfer_fit():
    """A new head on MobileNetV2, whose body is frozen: three epochs of six batches, the last of 2, with two batches of validation."""
    body = keras.applications.MobileNetV2((64, 64, 3), 0.35, include_top=False, weights=None)
    body.trainable = False
    inputs = keras.Input((64, 64, 3))
    x = body(layers.Rescaling(2.0, -1.0)(layers.RandomFlip("horizontal")(inputs)), training=False)
    net = compiled(keras.Model(inputs, layers.Dense(10)(layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x)))))
    counted, held = Counted(), images(12, 64)
    net.fit(*images(42, 64), batch_size=8, epochs=3, validation_data=held, validation_batch_size=6, verbose=0, callbacks=[counted])
    return counted.count


def recommender_fit():
    """Embeddings and dense layers: two epochs of 15 batches of ratings, the last of 52, with a batch of validation; then the best of 128 items."""
    user, item = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    x = layers.Concatenate()([layers.Embedding(200, 24)(user), layers.Embedding(300, 24)(item)])
    for width in (96, 48):
        x = layers.Dropout(0.2)(layers.Dense(width, activation="relu")(x))
    net, counted = keras.Model([user, item], layers.Dense(1)(x)), Counted()
    net.compile("adagrad", "mse")
    users, items, ratings = np.random.randint(0, 200, 1100), np.random.randint(0, 300, 1100), np.random.rand(1100)
    held = [users[948:], items[948:]], ratings[948:]
    options = {"validation_data": held, "validation_batch_size": 152, "verbose": 0, "callbacks": [counted]}
    net.fit([users[:948], items[:948]], ratings[:948], batch_size=64, epochs=2, **options)
    net.predict([np.full(128, 7), np.arange(128)], batch_size=128, verbose=0).ravel().argsort()[::-1]
    return counted.count


def translation_fit():
    """The example of Keras: an LSTM reads, another writes: two epochs of ten batches; then three sentences are written, 8 characters each."""
    source, target = keras.Input((None, 30)), keras.Input((None, 34))
    _, *state = layers.LSTM(32, return_state=True)(source)
    writer, last = layers.LSTM(32, return_sequences=True, return_state=True), layers.Dense(34, activation="softmax")
    net, counted = keras.Model([source, target], last(writer(target, initial_state=state)[0])), Counted()
    net.compile("rmsprop", "categorical_crossentropy")
    x, y = np.eye(30, dtype="float32")[np.random.randint(0, 30, (80, 12))], np.eye(34, dtype="float32")[np.random.randint(0, 34, (80, 14))]
    net.fit([x, y[:, :-1]], y[:, 1:], batch_size=8, epochs=2, verbose=0, callbacks=[counted])
    before = keras.Input((32,)), keras.Input((32,))
    out, *after = writer(target, initial_state=list(before))
    encoder, decoder = keras.Model(source, state), keras.Model([target, *before], [last(out), *after])
    for sentence in x[:3]:
        state, character = encoder.predict(sentence[None], verbose=0), y[:1, :1]
        for _ in range(8):
            scores, *state = decoder.predict([character, *state], verbose=0)
            character = np.eye(34, dtype="float32")[scores.argmax(2)]
    return counted.count


def steps_per_epoch_fit():
    """A U-Net with residuals on an endless tf.data pipeline: three epochs of nine steps, each with two steps of validation."""
    inputs = keras.Input((48, 48, 3))
    x = layers.Conv2D(12, 3, strides=2, padding="same", activation="relu")(inputs)
    kept = x
    x = layers.BatchNormalization()(layers.SeparableConv2D(24, 3, padding="same", activation="relu")(x))
    x = layers.MaxPooling2D(3, 2, "same")(x) + layers.Conv2D(24, 1, strides=2, padding="same")(kept)
    for width in (24, 12):
        short = layers.Conv2D(width, 1, padding="same")(layers.UpSampling2D()(x))
        x = layers.UpSampling2D()(layers.Conv2DTranspose(width, 3, padding="same", activation="relu")(x)) + short
    net, counted = keras.Model(inputs, layers.Conv2D(3, 3, padding="same")(x)), Counted()
    net.compile(keras.optimizers.Adam(1e-3), CLASSES)

    def pipeline(count):
        data = tf.data.Dataset.from_tensor_slices((np.random.rand(count, 48, 48, 3).astype("float32"), np.random.randint(0, 3, (count, 48, 48))))
        return data.cache().shuffle(count).repeat().batch(6).prefetch(tf.data.AUTOTUNE)

    held = {"validation_data": pipeline(12), "validation_steps": 2}
    net.fit(pipeline(40), steps_per_epoch=9, epochs=3, verbose=0, callbacks=[counted], **held)
    return counted.count


def search_of_parameters():
    """Six networks of a grid, each for two epochs of five batches, then evaluated with two; the best learns on for three epochs."""
    training, held, tried, counted = images(80), images(32), [], Counted()
    for width, kernel in itertools.product((8, 12, 16), (3, 5)):
        body = [layers.Conv2D(width, kernel, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(2 * width, kernel, activation="relu")]
        net = compiled(keras.Sequential([keras.Input((32, 32, 3)), *body, layers.GlobalAveragePooling2D(), layers.Dense(10)]))
        net.fit(*training, batch_size=16, epochs=2, verbose=0, callbacks=[counted])
        tried.append((net.evaluate(*held, batch_size=16, verbose=0), len(tried), net))
    min(tried)[2].fit(*training, batch_size=16, epochs=3, verbose=0, callbacks=[counted])
    return counted.count


def serving_requests():
    """A service: 30 requests, each of 1 to 8 images; a request is an iteration."""
    net, count = network((12, 16, 24, 32)), 0

    @tf.function(input_signature=[tf.TensorSpec((None, 32, 32, 3))])
    def serve(x):
        return {"scores": tf.nn.softmax(net(x, training=False))}

    for size in np.random.default_rng(44).integers(1, 9, 30):
        serve(tf.constant(images(size)[0]))["scores"].numpy().argmax(1)
        count += 1
    return count


def timed_calls():
    """A benchmark of a DenseNet's block with batches of 4 and of 16: five calls to warm up and fifteen that are timed, each call an iteration."""
    inputs = keras.Input((48, 48, 3))
    x = layers.Conv2D(16, 7, strides=2, padding="same", activation="relu")(inputs)
    for _ in range(4):
        x = layers.Concatenate()([x, layers.Conv2D(8, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(x)))])
    net, count, speed = keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))), 0, {}
    call = tf.function(lambda x: net(x, training=False))
    for batch in (4, 16):
        x = tf.random.normal((batch, 48, 48, 3))
        for _ in range(5):
            call(x)
            count += 1  # a call to warm up
        start = time.perf_counter()
        for _ in range(15):
            call(x).numpy()
            count += 1  # a call that is timed
        speed[batch] = 15 * batch / (time.perf_counter() - start)
    return count


def simple_siamese_loop():
    """SimSiam in a user's own loop: two views pass the network one after the other, with gradients of both: three epochs of six batches."""
    body = [layers.Conv2D(12, 3, 2, "same", activation="relu"), layers.Conv2D(24, 3, 2, "same", activation="relu"), layers.GlobalAveragePooling2D()]
    encoder = keras.Sequential([keras.Input((32, 32, 3)), *body, layers.Dense(32), layers.BatchNormalization()])
    guess = keras.Sequential([keras.Input((32,)), layers.Dense(8, activation="relu"), layers.Dense(32)])
    optimizer, count = keras.optimizers.SGD(0.03, momentum=0.6), 0
    augment = keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomContrast(0.3)])

    def unlike(p, z):
        return -tf.reduce_mean(tf.reduce_sum(tf.math.l2_normalize(p, 1) * tf.math.l2_normalize(tf.stop_gradient(z), 1), 1))

    @tf.function
    def step(one, other):
        variables = encoder.trainable_variables + guess.trainable_variables
        with tf.GradientTape() as tape:
            a, b = encoder(one, training=True), encoder(other, training=True)
            loss = (unlike(guess(a, training=True), b) + unlike(guess(b, training=True), a)) / 2
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    data = tf.data.Dataset.from_tensor_slices(images(48)[0]).shuffle(48).batch(8)
    data = data.map(lambda x: (augment(x, training=True), augment(x, training=True))).prefetch(1)
    for _ in range(3):
        losses = []
        for views in data:
            losses.append(step(*views))
            count += 1  # a batch of training
        float(tf.reduce_mean(losses))
    return count


def vision_transformer_fit():
    """Patches by a convolution, two blocks of attention: three epochs of ten batches, validation, the best network kept, then a test."""
    inputs = keras.Input((32, 32, 3))
    x = layers.Reshape((16, 32))(layers.Conv2D(32, 8, 8)(layers.RandomFlip("horizontal")(inputs)))
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, 8, dropout=0.1)(y, y)
        x = x + layers.Dense(32)(layers.Dense(64, activation="gelu")(layers.LayerNormalization()(x)))
    net, counted = keras.Model(inputs, layers.Dense(10)(layers.Dropout(0.3)(layers.Flatten()(layers.LayerNormalization()(x))))), Counted()
    net.compile(keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(1e-3, 30), weight_decay=1e-4), CLASSES, metrics=["accuracy"])
    kept = keras.callbacks.EarlyStopping("val_accuracy", patience=5, restore_best_weights=True)
    net.fit(*images(100), batch_size=9, epochs=3, validation_split=0.1, verbose=0, callbacks=[counted, kept])
    net.evaluate(*images(30), batch_size=9, verbose=0)
    return counted.count


PROGRAMS = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
NAMES = {f.__name__: f for f in PROGRAMS if not isinstance(f, type)}
