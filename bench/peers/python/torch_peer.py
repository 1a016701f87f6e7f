"""PyTorch, eager, as a peer."""
import inspect

import torch
import torch.nn.functional as F

from serve import Skip, serve

DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "i8": torch.int8, "i32": torch.int32, "i64": torch.int64}

# How calls are made; torch_cuda_peer.py sets what is otherwise on a GPU.
ADAM = {}                     # options of the optimizer
QUIET = torch.inference_mode  # around calls without gradients
REUSE = True                  # products go to memory that is there


def compiled(f):
    return f


def values(dtype, *shape):
    if dtype not in DTYPES:
        raise Skip(f"torch has no {dtype}")
    if dtype[0] == "i":
        return torch.randint(-100, 100, shape).to(DTYPES[dtype])
    return (2 * torch.rand(*shape) - 1).to(DTYPES[dtype])


def inference(make):
    def wrapped(sizes, dtype):
        run = compiled(make(sizes, dtype))

        def call():
            with QUIET():
                return run()
        return call
    wrapped.__name__ = make.__name__
    return wrapped


@inference
def relu_mul_add(sizes, dtype):
    x, w, b = (values(dtype, *sizes) for _ in range(3))
    return lambda: torch.addcmul(b, x, w).relu_()


@inference
def gelu_erf_mul(sizes, dtype):
    x, w, b = (values(dtype, *sizes) for _ in range(3))
    return lambda: F.gelu(torch.addcmul(b, x, w)).mul_(x)


@inference
def gelu_tanh_mul(sizes, dtype):
    x, w, b = (values(dtype, *sizes) for _ in range(3))
    return lambda: F.gelu(torch.addcmul(b, x, w), approximate="tanh").mul_(x)


@inference
def sigmoid(sizes, dtype):
    x = values(dtype, *sizes)
    y = torch.empty_like(x)
    return lambda: torch.sigmoid(x, out=y)


@inference
def chain10(sizes, dtype):
    x, w, b = (values(dtype, *sizes) for _ in range(3))

    def run():
        v = torch.addcmul(b, x, w).relu_().mul_(0.5).sub_(w).abs_().add_(1)
        return torch.maximum(v, b).mul_(x).neg_()
    return run


def step_of(optimizer):
    def step():  # torch.compile wants a function
        optimizer.step()
    return compiled(step)


def adam(sizes, dtype):
    p = torch.nn.Parameter(values(dtype, *sizes))
    p.grad = values(dtype, *sizes)
    return step_of(torch.optim.Adam([p], lr=1e-4, **ADAM))


@inference
def softmax(sizes, dtype):
    x = values(dtype, *sizes[:2])
    return lambda: torch.softmax(x, sizes[2])


@inference
def log_softmax(sizes, dtype):
    x = values(dtype, *sizes[:2])
    return lambda: torch.log_softmax(x, sizes[2])


@inference
def layer_norm(sizes, dtype):
    rows, cols, axis = sizes
    x = values(dtype, rows, cols)
    if axis != 1:
        raise Skip("layer_norm normalizes the last axis")
    g, b = values(dtype, cols), values(dtype, cols)
    return lambda: F.layer_norm(x, (cols,), g, b, 1e-5)


@inference
def rms_norm(sizes, dtype):
    rows, cols, axis = sizes
    x, g = values(dtype, rows, cols), values(dtype, sizes[axis])
    fused = getattr(F, "rms_norm", None)
    if fused and axis == 1:
        return lambda: fused(x, (cols,), g, 1e-5)
    if axis == 0:
        g = g.unsqueeze(1)
    return lambda: x * torch.rsqrt(x.square().mean(axis, keepdim=True) + 1e-5) * g


@inference
def cross_entropy(sizes, dtype):
    rows, cols = sizes
    x, labels = values(dtype, rows, cols), torch.randint(0, cols, (rows,))
    return lambda: F.cross_entropy(x, labels)


def reduction(f):
    def make(sizes, dtype):  # one size: the whole of it; three: rows, columns, axis
        x = values(dtype, *sizes[:2])
        return (lambda: f(x)) if len(sizes) == 1 else (lambda: f(x, sizes[2]))
    return inference(make)


@inference
def sort(sizes, dtype):
    x = values(dtype, *sizes)
    return lambda: torch.sort(x)


@inference
def sort_rows(sizes, dtype):
    x = values(dtype, *sizes)
    return lambda: torch.sort(x, dim=1, stable=True)


@inference
def argsort(sizes, dtype):
    x = values(dtype, *sizes)
    return lambda: torch.argsort(x)


@inference
def topk(sizes, dtype):
    x = values(dtype, sizes[0])
    return lambda: torch.topk(x, sizes[1])


@inference
def topk_rows(sizes, dtype):
    x = values(dtype, *sizes[:2])
    return lambda: torch.topk(x, sizes[2], dim=1)


@inference
def cumsum(sizes, dtype):
    x = values(dtype, *sizes)
    return lambda: torch.cumsum(x, 0)


@inference
def gather(sizes, dtype):
    n, table = sizes
    x, i = values(dtype, table), torch.randint(0, table, (n,))
    return lambda: torch.take(x, i)


@inference
def scatter_add(sizes, dtype):
    n, table = sizes
    x, i, src = values(dtype, table), torch.randint(0, table, (n,)), values(dtype, n)
    return lambda: torch.scatter_add(x, 0, i, src)


@inference
def gather_rows(sizes, dtype):
    n, table, width = sizes
    x, i = values(dtype, table, width), torch.randint(0, table, (n,))
    return lambda: torch.index_select(x, 0, i)


@inference
def scatter_add_rows(sizes, dtype):
    n, table, width = sizes
    x, i, src = values(dtype, table, width), torch.randint(0, table, (n,)), values(dtype, n, width)
    return lambda: torch.index_add(x, 0, i, src)


@inference
def searchsorted(sizes, dtype):
    n, table = sizes
    x = torch.sort(torch.randint(0, table, (table,)).to(DTYPES[dtype]))[0]
    z = torch.randint(0, table, (n,)).to(DTYPES[dtype])
    return lambda: torch.searchsorted(x, z)


@inference
def unique(sizes, dtype):
    x = torch.randint(0, sizes[1], (sizes[0],)).to(DTYPES[dtype])
    return lambda: torch.unique(x, return_inverse=True, return_counts=True)


@inference
def logcumsumexp(sizes, dtype):
    x = values(dtype, *sizes)
    return lambda: torch.logcumsumexp(x, 0)


@inference
def matmul(sizes, dtype):
    m, n, k = sizes
    if dtype[0] == "i":
        raise Skip("torch multiplies integers without a library")
    return product(values(dtype, m, k), values(dtype, k, n))


def product(a, b):
    if not REUSE:
        return lambda: torch.mm(a, b)
    c = torch.mm(a, b)
    return lambda: torch.mm(a, b, out=c)


@inference
def matmul_t(sizes, dtype):
    m, n, k = sizes
    return product(values(dtype, m, k), values(dtype, n, k).t())


@inference
def linear_gelu(sizes, dtype):
    m, n, k = sizes
    x, w, b = values(dtype, m, k), values(dtype, k, n), values(dtype, n)
    return lambda: F.gelu(torch.addmm(b, x, w))


@inference
def linear_codes(sizes, dtype):
    """Eight products in one call, with what torch has for weights of so few bits."""
    rows, out, inner, bits, block = sizes
    x = values(dtype, rows, inner)
    if bits == 8 and not block:
        weights = [(torch.randint(-127, 128, (out, inner), dtype=torch.int8), values(dtype, out)) for _ in range(8)]

        def linear(codes, scales):
            return F.linear(x, codes.to(x.dtype)) * scales
    elif bits == 4 and hasattr(torch.ops.aten, "_weight_int4pack_mm"):
        def weight():
            codes = torch.randint(0, 256, (out, inner // 2), dtype=torch.uint8)
            return torch.ops.aten._convert_weight_to_int4pack(codes, 8), values(dtype, inner // block, out, 2)
        try:
            weights = [weight() for _ in range(8)]
        except RuntimeError as e:
            raise Skip(f"no products of 4 bits: {e}") from e

        def linear(codes, scales):
            return torch.ops.aten._weight_int4pack_mm(x, codes, block, scales)
    else:
        raise Skip(f"torch has no weights of {bits} bits in blocks of {block}")
    return lambda: [linear(*w) for w in weights]


@inference
def conv2d(sizes, dtype):
    batch, cin, h, w, cout, kh, kw, stride, pad, groups = sizes
    x, k = values(dtype, batch, cin, h, w), values(dtype, cout, cin // groups, kh, kw)
    return lambda: F.conv2d(x, k, stride=stride, padding=pad, groups=groups)


@inference
def attention(sizes, dtype):
    batch, heads, length, head, causal = sizes
    q, k, v = (values(dtype, batch, heads, length, head) for _ in range(3))
    scale = head ** -0.5
    fused = getattr(F, "scaled_dot_product_attention", None)
    if fused:
        return lambda: fused(q, k, v, is_causal=bool(causal))
    mask = torch.full((length, length), float("-inf")).triu(1) if causal else None

    def run():
        s = torch.matmul(q, k.transpose(-1, -2)).mul_(scale)
        if mask is not None:
            s += mask
        return torch.matmul(torch.softmax(s, -1), v)
    return run


def attention_gradient(sizes, dtype):
    batch, heads, length, head, causal = sizes
    x = [values(dtype, batch, heads, length, head).requires_grad_() for _ in range(3)]
    fused = compiled(lambda: F.scaled_dot_product_attention(*x, is_causal=bool(causal)))
    ones = torch.ones_like(x[0])

    def run():
        for v in x:
            v.grad = None
        fused().backward(ones)
    return run


def train_mlp(sizes, dtype):
    batch, *widths = sizes  # of the inputs, of hidden layers, of the classes
    net = torch.nn.Sequential(torch.nn.Linear(*widths[:2]))
    for i in range(1, len(widths) - 1):
        net.append(torch.nn.ReLU())
        net.append(torch.nn.Linear(*widths[i:i + 2]))
    net.to(DTYPES[dtype])
    x, labels = values(dtype, batch, widths[0]), torch.randint(0, widths[-1], (batch,))
    return training(adam_of(net), lambda: F.cross_entropy(net(x), labels))


def train_transformer(sizes, dtype):
    batch, length, width, heads, layers = sizes
    layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0, activation="gelu", batch_first=True, norm_first=True)
    net = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to(DTYPES[dtype])
    x, target = values(dtype, batch, length, width), values(dtype, batch, length, width)
    mask = torch.full((length, length), float("-inf")).triu(1)
    # What does not know the mask looks at it, and waits for a GPU to do so.
    known = {"is_causal": True} if "is_causal" in inspect.signature(net.forward).parameters else {}
    return training(adam_of(net), lambda: (net(x, mask, **known) - target).square().mean())


def adam_of(net):
    return torch.optim.Adam(net.parameters(), lr=1e-3, **ADAM)


def training(optimizer, loss_of):
    loss, step = compiled(loss_of), step_of(optimizer)

    def run():
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        step()
    return run


def train_gpt2(sizes, dtype):
    """Parameters are f32, and cast where they are used; what layers compute is of the dtype, the loss f32."""
    layers, width, heads, vocabulary, batch, length = sizes
    half, params = DTYPES[dtype], []

    def parameter(x):
        params.append(torch.nn.Parameter(x))
        return params[-1]

    def linear(n, m):
        return parameter(0.02 * torch.randn(m, n)), parameter(torch.zeros(m))

    def norm():
        return parameter(torch.ones(width)), parameter(torch.zeros(width))

    def apply_linear(x, layer):
        return F.linear(x, *(p.to(half) for p in layer))

    def apply_norm(x, layer):
        return F.layer_norm(x, (width,), *(p.to(half) for p in layer), 1e-5)

    table, places = parameter(0.02 * torch.randn(vocabulary, width)), parameter(0.02 * torch.randn(length, width))
    blocks = [(norm(), linear(width, 3 * width), linear(width, width), norm(), linear(width, 4 * width), linear(4 * width, width))
              for _ in range(layers)]
    last = norm()
    tokens, following = (torch.randint(0, vocabulary, (batch, length)) for _ in range(2))

    def loss():
        x = (F.embedding(tokens, table) + places).to(half)
        for norm1, packed, out, norm2, up, down in blocks:
            q, k, v = (y.view(batch, length, heads, -1).transpose(1, 2) for y in apply_linear(apply_norm(x, norm1), packed).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + apply_linear(y.transpose(1, 2).reshape(batch, length, width), out)
            x = x + apply_linear(F.gelu(apply_linear(apply_norm(x, norm2), up), approximate="tanh"), down)
        logits = F.linear(apply_norm(x, last), table.to(half)).float()
        return F.cross_entropy(logits.view(-1, vocabulary), following.view(-1))
    return training(torch.optim.AdamW(params, lr=1e-4, weight_decay=0.1, **ADAM), loss)


@inference
def decode_llama(sizes, dtype):
    layers, width, heads, kv_heads, hidden, vocabulary, context = sizes
    t, head = DTYPES[dtype], width // heads
    kv, group = head * kv_heads, heads // kv_heads

    def weight(n, m):
        return (0.02 * torch.randn(m, n)).to(t)

    table, one = weight(width, vocabulary), torch.ones(width, dtype=t)
    blocks = [(weight(width, width + 2 * kv), weight(width, width), weight(width, 2 * hidden), weight(hidden, width),
               torch.zeros(1, kv_heads, context, head, dtype=t), torch.zeros(1, kv_heads, context, head, dtype=t)) for _ in range(layers)]
    token, position, everywhere = torch.zeros(1, 1, dtype=torch.long), torch.tensor([context - 1]), torch.arange(context)
    frequency = 500000 ** (-torch.arange(0, head, 2).double() / head)

    def run():
        angle = position.double() * frequency
        cos, sin = angle.cos().to(t), angle.sin().to(t)
        seen = (everywhere <= position).view(1, 1, 1, context)

        def turn(x):
            a, b = x.chunk(2, -1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

        x = F.embedding(token, table)
        for packed, out, up, down, keys, values in blocks:
            q, k, v = F.linear(F.rms_norm(x, (width,), one, 1e-5), packed).split((width, kv, kv), -1)
            keys.index_copy_(2, position, turn(k.view(1, kv_heads, 1, head)))
            values.index_copy_(2, position, v.view(1, kv_heads, 1, head))
            # Heads that share keys are queries of one.
            q = turn(q.view(1, kv_heads, group, head))
            x = x + F.linear(F.scaled_dot_product_attention(q, keys, values, attn_mask=seen).reshape(1, 1, width), out)
            gate, y = F.linear(F.rms_norm(x, (width,), one, 1e-5), up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * y, down)
        logits = F.linear(F.rms_norm(x, (width,), one, 1e-5), table)
        token.copy_(logits.argmax(-1))
        return logits
    return run


WORKLOADS = {f.__name__: f for f in (relu_mul_add, gelu_erf_mul, gelu_tanh_mul, sigmoid, chain10, adam, softmax, log_softmax, layer_norm, rms_norm,
                                     cross_entropy, sort, sort_rows, argsort, topk, topk_rows, cumsum, gather, scatter_add, gather_rows,
                                     scatter_add_rows, searchsorted, unique, logcumsumexp, matmul, matmul_t, linear_gelu, linear_codes, conv2d, attention, attention_gradient,
                                     train_mlp, train_transformer, train_gpt2, decode_llama)}
WORKLOADS.update({"sum": reduction(torch.sum), "mean": reduction(torch.mean), "max": reduction(torch.amax), "argmax": reduction(torch.argmax),
                  "matmul_packed": matmul, "train_mlp2": train_mlp})

if __name__ == "__main__":
    torch.manual_seed(1)
    serve("torch", torch.__version__, WORKLOADS, torch.set_num_threads)
