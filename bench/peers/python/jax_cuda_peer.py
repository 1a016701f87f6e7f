"""JAX on a GPU as a peer: every call is a function that jax.jit compiled. The arguments are
the peer's name and the device, such as cuda:0.

Calls are queued one behind the other, and waited for at the end. A training step gives
its parameters' memory to the next one. Products of f32 are those of f32, not of TF32.
"""
import gc
import os
import sys
from time import perf_counter

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # memory is shared with who is measured beside

import jax
import jax.numpy as jnp

from serve import Skip, refuse, serve

NAME, DEVICE = sys.argv[1:]
DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "i32": jnp.int32}
KEYS = iter(())  # of random numbers, for one workload


def values(dtype, *shape):
    if dtype not in DTYPES:
        raise Skip(f"jax is not measured in {dtype}")
    return (2 * jax.random.uniform(next(KEYS), shape, jnp.float32) - 1).astype(DTYPES[dtype])


def indices(below, *shape):
    return jax.random.randint(next(KEYS), shape, 0, below, jnp.int32)


def stateless(make):
    """A workload of one that returns a function and its operands."""
    def made(sizes, dtype):
        f, *operands = make(sizes, dtype)
        compiled = jax.jit(f)
        return lambda: compiled(*operands)
    made.__name__ = make.__name__
    return made


def stateful(make):
    """A workload of one that returns a function of a state, to the next one, and the first."""
    def made(sizes, dtype):
        f, *held = make(sizes, dtype)
        compiled = jax.jit(f, donate_argnums=0)

        def run():
            held[0] = compiled(held[0])
            return held[0]
        return run
    made.__name__ = make.__name__
    return made


@stateless
def relu_mul_add(sizes, dtype):
    return lambda x, w, b: jax.nn.relu(x * w + b), *(values(dtype, *sizes) for _ in range(3))


@stateless
def gelu_erf_mul(sizes, dtype):
    return lambda x, w, b: jax.nn.gelu(x * w + b, approximate=False) * x, *(values(dtype, *sizes) for _ in range(3))


@stateless
def chain10(sizes, dtype):
    def f(x, w, b):
        v = jnp.abs(jax.nn.relu(x * w + b) * 0.5 - w) + 1
        return -(jnp.maximum(v, b) * x)
    return f, *(values(dtype, *sizes) for _ in range(3))


def adam_rule(p, g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8), m, v


@stateful
def adam(sizes, dtype):
    p, g = values(dtype, *sizes), values(dtype, *sizes)

    def f(state):
        p, m, v, t = state
        return *adam_rule(p, g, m, v, t + 1), t + 1
    return f, (p, jnp.zeros_like(p), jnp.zeros_like(p), jnp.float32(0))


@stateless
def softmax(sizes, dtype):
    return lambda x: jax.nn.softmax(x, sizes[2]), values(dtype, *sizes[:2])


def normed(sizes, f):
    if sizes[2] != 1:
        raise Skip("norms are along the last axis")
    return f


@stateless
def layer_norm(sizes, dtype):
    def f(x, g, b):
        y = x.astype(jnp.float32)
        y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
        return (y * g + b).astype(x.dtype)
    return normed(sizes, f), values(dtype, *sizes[:2]), values(dtype, sizes[1]), values(dtype, sizes[1])


@stateless
def rms_norm(sizes, dtype):
    def f(x, g):
        y = x.astype(jnp.float32)
        return (y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-5) * g).astype(x.dtype)
    return normed(sizes, f), values(dtype, *sizes[:2]), values(dtype, sizes[1])


def loss_of(logits, labels):
    log = jax.nn.log_softmax(logits.astype(jnp.float32), -1)
    return -jnp.take_along_axis(log, labels[:, None], -1).mean()


@stateless
def cross_entropy(sizes, dtype):
    return loss_of, values(dtype, *sizes), indices(sizes[1], sizes[0])


def reduction(f):
    def make(sizes, dtype):  # one size: the whole of it; three: rows, columns, axis
        axis = None if len(sizes) == 1 else sizes[2]
        return lambda x: f(x, axis), values(dtype, *sizes[:2])
    return stateless(make)


@stateless
def gather_rows(sizes, dtype):
    n, table, width = sizes
    return lambda x, i: jnp.take(x, i, 0), values(dtype, table, width), indices(table, n)


@stateless
def scatter_add_rows(sizes, dtype):
    n, table, width = sizes
    return lambda x, i, s: x.at[i].add(s), values(dtype, table, width), indices(table, n), values(dtype, n, width)


@stateless
def matmul(sizes, dtype):
    m, n, k = sizes
    return jnp.matmul, values(dtype, m, k), values(dtype, k, n)


@stateless
def linear_gelu(sizes, dtype):
    m, n, k = sizes
    return lambda x, w, b: jax.nn.gelu(x @ w + b, approximate=False), values(dtype, m, k), values(dtype, k, n), values(dtype, n)


def heads_of(sizes, dtype):
    batch, heads, length, head, causal = sizes
    library = "cudnn" if dtype == "bf16" else None

    def f(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, is_causal=bool(causal), implementation=library)
    return f, *(values(dtype, batch, length, heads, head) for _ in range(3))


@stateless
def attention(sizes, dtype):
    return heads_of(sizes, dtype)


@stateless
def attention_gradient(sizes, dtype):
    f, *x = heads_of(sizes, dtype)

    def both(*x):
        y, back = jax.vjp(f, *x)
        return back(jnp.ones_like(y))
    return both, *x


@stateful
def train_mlp(sizes, dtype):
    batch, *widths = sizes  # of the inputs, of hidden layers, of the classes
    layers = [(values(dtype, n, m) / n ** 0.5, values(dtype, m) / n ** 0.5) for n, m in zip(widths, widths[1:])]
    x, labels = values(dtype, batch, widths[0]), indices(widths[-1], batch)

    def loss(layers):
        y = x
        for i, (w, b) in enumerate(layers):
            y = y @ w + b
            if i < len(layers) - 1:
                y = jax.nn.relu(y)
        return loss_of(y, labels)

    def step(state):
        layers, m, v, t = state
        t = t + 1
        done = jax.tree.map(lambda *a: adam_rule(*a, t), layers, jax.grad(loss)(layers), m, v)
        return *jax.tree.transpose(jax.tree.structure(layers), jax.tree.structure((0, 0, 0)), done), t
    return step, (layers, jax.tree.map(jnp.zeros_like, layers), jax.tree.map(jnp.zeros_like, layers), jnp.float32(0))


WORKLOADS = {f.__name__: f for f in (relu_mul_add, gelu_erf_mul, chain10, adam, softmax, layer_norm, rms_norm, cross_entropy, gather_rows,
                                     scatter_add_rows, matmul, linear_gelu, attention, attention_gradient, train_mlp)}
WORKLOADS.update({"sum": reduction(jnp.sum), "mean": reduction(jnp.mean), "max": reduction(jnp.max), "train_mlp2": train_mlp})


def on_gpu(make):
    def made(sizes, dtype):
        global KEYS
        KEYS = iter(jax.random.split(jax.random.key(1), 64))
        return make(sizes, dtype)
    return made


def measure(run, ms, _clock):
    """The mean time of a call among as many as take so long, at least three."""
    n = 3
    while True:
        jax.block_until_ready(run())
        start = perf_counter()
        for _ in range(n):
            last = run()
        jax.block_until_ready(last)
        took = (perf_counter() - start) * 1e3
        if took >= ms:
            return took * 1e6 / n
        n = max(2 * n, int(1.2 * n * ms / max(took, 1e-3)))


def forget():
    jax.clear_caches()
    gc.collect()


def prepare():
    """Returns why there is no such peer, or None."""
    try:
        gpus = jax.devices("gpu")
    except RuntimeError as e:
        return f"jax finds no GPU: {e}"
    number = int(DEVICE.partition(":")[2] or 0)
    if number >= len(gpus):
        return f"jax finds {len(gpus)} GPUs, no {DEVICE}"
    jax.config.update("jax_default_device", gpus[number])
    jax.config.update("jax_default_matmul_precision", "highest")
    return None


if __name__ == "__main__":
    why = prepare()
    if why:
        refuse(why)
    else:
        serve(NAME, jax.__version__, {name: on_gpu(make) for name, make in WORKLOADS.items()}, lambda threads: None, measure, forget)
