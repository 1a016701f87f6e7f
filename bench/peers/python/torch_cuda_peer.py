"""PyTorch on a GPU as a peer. The arguments are the peer's name, the way in
which calls are made, and the device, such as cuda:0. The ways:

eager    one call behind the other, and one wait at the end
graph    the call is captured in a CUDA graph, which is launched again and again
compile  the call is compiled by torch.compile, then captured

The workloads are those of torch_peer.py. Products of f32 are those of f32, not of TF32.
"""
import gc
import sys
from time import perf_counter

import torch

import torch_peer
from serve import Skip, refuse, serve

NAME, WAY, DEVICE = sys.argv[1:]
if ":" not in DEVICE:
    DEVICE += ":0"
WARM = 5  # calls before a capture: what the first ones compile or make is there


def on_gpu(make):
    def made(sizes, dtype):
        with torch.device(DEVICE):  # only here: it costs time in each call
            run = make(sizes, dtype)
        return run if WAY == "eager" else captured(run)
    return made


def captured(run):
    try:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM):
                run()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
    except Exception as e:
        raise Skip(f"no graph: {type(e).__name__}: {e}") from e

    def replay():
        graph.replay()
    replay.of = run  # its operands stay
    return replay


def eager_ms(run, n):
    torch.cuda.synchronize()
    start = perf_counter()
    for _ in range(n):
        run()
    torch.cuda.synchronize()
    return (perf_counter() - start) * 1e3


def graph_ms(run, n):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    for _ in range(n):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def measure(run, ms, _clock):
    """The mean time of a call among as many as take so long, at least three."""
    timed = eager_ms if WAY == "eager" else graph_ms
    n = 3
    while True:
        took = timed(run, n)
        if took >= ms:
            return took * 1e6 / n
        n = max(2 * n, int(1.2 * n * ms / max(took, 1e-3)))


def forget():
    if WAY == "compile":
        torch.compiler.reset()  # else a function that had many shapes is not compiled again
    gc.collect()
    torch.cuda.empty_cache()


def prepare():
    """Returns why there is no such peer, or None."""
    if not hasattr(torch, "compile"):
        return f"torch is {torch.__version__}, at least 2 is needed"
    if not torch.cuda.is_available():
        return "torch finds no GPU"
    try:
        torch.cuda.set_device(DEVICE)
    except Exception as e:
        return f"{DEVICE}: {e}"
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(1)
    # The fastest Adam of each way.
    torch_peer.ADAM = {"eager": {"fused": True}, "graph": {"fused": True, "capturable": True}, "compile": {"capturable": True}}[WAY]
    if WAY == "compile":
        torch_peer.compiled = lambda f: torch.compile(f, dynamic=False)
        torch_peer.QUIET = torch.no_grad  # the compiler and inference mode do not go well together
        torch_peer.REUSE = False
    return None


if __name__ == "__main__":
    why = prepare()
    if why:
        refuse(why)
    else:
        serve(NAME, torch.__version__, {name: on_gpu(make) for name, make in torch_peer.WORKLOADS.items()}, lambda threads: None, measure, forget)
