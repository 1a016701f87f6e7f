"""numpy as a peer. Results go to memory that is there (out=) where numpy can."""
import numpy as np

from serve import Skip, serve

RNG = np.random.default_rng(1)
DTYPES = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i64": np.int64}


def values(dtype, *shape):
    if dtype not in DTYPES:
        raise Skip(f"numpy has no {dtype}")
    if dtype[0] == "i":
        return RNG.integers(-100, 100, shape).astype(DTYPES[dtype])
    return (2 * RNG.random(shape) - 1).astype(DTYPES[dtype])


def relu_mul_add(sizes, dtype):
    x, w, b = (values(dtype, *sizes) for _ in range(3))
    y = np.empty_like(x)

    def run():
        np.multiply(x, w, out=y)
        np.add(y, b, out=y)
        np.maximum(y, 0, out=y)
    return run


def gelu_tanh_mul(sizes, dtype):
    x, w, b = (values(dtype, *sizes) for _ in range(3))

    def run():
        v = x * w + b
        return 0.5 * v * (1 + np.tanh(np.float32(0.79788456) * (v + np.float32(0.044715) * v * v * v))) * x
    return run


def sigmoid(sizes, dtype):
    x = values(dtype, *sizes)
    y = np.empty_like(x)

    def run():
        np.negative(x, out=y)
        np.exp(y, out=y)
        np.add(y, 1, out=y)
        np.reciprocal(y, out=y)
    return run


def adam(sizes, dtype):
    x, m, v, g = (np.abs(values(dtype, *sizes)) for _ in range(4))

    def run():
        nonlocal m, v, x
        m = np.float32(0.9) * m + np.float32(0.1) * g
        v = np.float32(0.999) * v + np.float32(0.001) * g * g
        x = x - np.float32(1e-4) * m / (np.sqrt(v) + np.float32(1e-8))
    return run


def softmax(sizes, dtype):
    rows, cols, axis = sizes
    x = values(dtype, rows, cols)

    def run():
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        e /= e.sum(axis=axis, keepdims=True)
        return e
    return run


def reduction(f):
    def make(sizes, dtype):  # one size: the whole of it; three: rows, columns, axis
        if len(sizes) == 1:
            x = values(dtype, sizes[0])
            return lambda: f(x)
        x = values(dtype, sizes[0], sizes[1])
        return lambda: f(x, axis=sizes[2])
    return make


def sort(sizes, dtype):
    x = values(dtype, *sizes)
    return lambda: np.sort(x)


def argsort(sizes, dtype):
    x = values(dtype, *sizes)
    return lambda: np.argsort(x, kind="stable")


def topk(sizes, dtype):
    n, k = sizes
    x = values(dtype, n)

    def run():
        i = np.argpartition(x, n - k)[n - k:]
        i = i[np.argsort(-x[i])]
        return x[i], i
    return run


def cumsum(sizes, dtype):
    x = values(dtype, *sizes)
    y = np.empty_like(x)
    return lambda: np.cumsum(x, out=y)


def gather(sizes, dtype):
    n, table = sizes
    x, i = values(dtype, table), RNG.integers(0, table, n)
    y = np.empty(n, x.dtype)
    return lambda: np.take(x, i, out=y, mode="clip")


def scatter_add(sizes, dtype):
    n, table = sizes
    x, i, src = values(dtype, table), RNG.integers(0, table, n), values(dtype, n)
    return lambda: np.add.at(x, i, src)


def matmul(sizes, dtype):
    m, n, k = sizes
    if dtype not in ("f32", "f64"):
        raise Skip("numpy multiplies integers without BLAS")
    a, b = values(dtype, m, k), values(dtype, k, n)
    c = np.empty((m, n), a.dtype)
    return lambda: np.matmul(a, b, out=c)


def matmul_t(sizes, dtype):
    m, n, k = sizes
    a, b = values(dtype, m, k), values(dtype, n, k)
    c = np.empty((m, n), a.dtype)
    return lambda: np.matmul(a, b.T, out=c)


WORKLOADS = {f.__name__: f for f in (relu_mul_add, gelu_tanh_mul, sigmoid, adam, softmax, sort, argsort, topk, cumsum, gather, scatter_add,
                                     matmul, matmul_t)}
WORKLOADS.update({"sum": reduction(np.sum), "mean": reduction(np.mean), "max": reduction(np.max), "argmax": reduction(np.argmax),
                  "matmul_packed": matmul})

if __name__ == "__main__":
    serve("numpy", np.__version__, WORKLOADS, lambda threads: None)  # threads: by the environment
