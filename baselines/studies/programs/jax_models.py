"""BERT-base's encoder and an LSTM in JAX, the sizes of models.py. build(name) returns a function of (weights, x) and its arguments, in f16 on the GPU."""
import jax
import jax.numpy as jnp

from sizes import HEADS, LAYERS, SIZES, WIDE, WIDTH


def normal(count, *shape):
    """`count` random matrices, scaled by their rows."""
    return [jax.random.normal(key, shape, jnp.float16) / jnp.float16(shape[-1] ** 0.5) for key in jax.random.split(jax.random.key(0), count)]


def normalized(x):
    x = x.astype(jnp.float32)
    return ((x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)).astype(jnp.float16)


def bert(weights, x):
    batch, tokens, _ = x.shape
    for project, output, widen, narrow in weights:
        query, key, value = jnp.split((x @ project.T).reshape(batch, tokens, 3 * HEADS, WIDTH // HEADS), 3, 2)
        attended = jax.nn.dot_product_attention(query, key, value).reshape(x.shape)
        x = normalized(x + attended @ output.T)
        x = normalized(x + jax.nn.gelu(x @ widen.T) @ narrow.T)
    return x


def lstm(weights, x):
    for inputs, hidden in weights:

        def step(state, gates_of_input, hidden=hidden):
            h, c = state
            i, f, g, o = jnp.split(gates_of_input + h @ hidden.T, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((x.shape[1], hidden.shape[1]), x.dtype)
        x = jax.lax.scan(step, (zero, zero), x @ inputs.T)[1]
    return x


def build(name):
    size = SIZES["cuda"][name]
    if name == "bert":
        shapes = ((3 * WIDTH, WIDTH), (WIDTH, WIDTH), (WIDE, WIDTH), (WIDTH, WIDE))
        return bert, list(zip(*(normal(LAYERS, *shape) for shape in shapes))), *normal(1, *size, WIDTH)
    steps, batch, inputs, hidden, layers = size
    weights = [normal(1, 4 * hidden, inputs if layer == 0 else hidden) + normal(1, 4 * hidden, hidden) for layer in range(layers)]
    return lstm, weights, *normal(1, steps, batch, inputs)
