#!/usr/bin/env python3
"""TensorFlow: ResNet-50 (keras) or an LSTM on random data, in inference or training."""
import os

import steps

options = steps.arguments(__doc__)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402  (after the arguments: it takes seconds)

tf.keras.utils.set_random_seed(1)
layers = tf.keras.layers
if options.model == "resnet50":
    model = tf.keras.applications.ResNet50(weights=None, input_shape=(options.size, options.size, 3))
    x, classes = tf.random.normal((options.batch, options.size, options.size, 3)), 1000
else:
    model = tf.keras.Sequential([tf.keras.Input((options.time_steps, options.inputs)), layers.LSTM(options.hidden),
                                 layers.Dense(128, activation="softmax")])
    x, classes = tf.random.normal((options.batch, options.time_steps, options.inputs)), 128
y = tf.random.uniform((options.batch,), maxval=classes, dtype=tf.int32)


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
