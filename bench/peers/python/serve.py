"""The frame of a peer in Python: it reads requests and times what a framework's
file offers. See bench/README.md for the protocol.

A framework's file calls serve(name, version, workloads, set_threads), where
workloads maps the name of a workload to a function of (sizes, dtype) that makes
its memory and returns a function of no arguments: one call. It raises Skip to say
why there is none. measure(run, ms, clock) may be another function than the one
below, and forget is called when the memory of a workload was given up.
"""
import gc
import json
import os
import sys
from time import perf_counter, process_time


class Skip(Exception):
    """Why a workload is not measured."""


# Answers have the standard output to themselves: what frameworks print goes to the
# standard error.
_OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def _say(answer):
    _OUT.write(json.dumps(answer) + "\n")
    _OUT.flush()


def refuse(why):
    """Says why there is no such peer, in place of serve."""
    _say({"skip": why})


def _measure(run, ms, clock):
    start = clock()
    n, batch = 0, 1
    while True:  # batches grow, so that the clock weighs little
        for _ in range(batch):
            run()
        n += batch
        took = clock() - start
        if took * 1e3 >= ms:
            return took * 1e9 / n
        if took * 1e3 < ms / 8:
            batch *= 2


def serve(name, version, workloads, set_threads, measure=_measure, forget=lambda: None):
    _say({"peer": name, "version": version})
    prepared, run = None, None
    for line in sys.stdin:
        ask = json.loads(line)
        key = (ask["workload"], tuple(ask["sizes"]), ask["dtype"], ask["threads"])
        try:
            if key != prepared:
                prepared = run = None  # frees the memory of the last one
                forget()
                make = workloads.get(ask["workload"])
                if make is None:
                    raise Skip(f"{name} has no {ask['workload']} here")
                set_threads(ask["threads"])
                run, prepared = make(ask["sizes"], ask["dtype"]), key
            for _ in range(ask.get("warmup", 1)):
                run()
            gc.collect()
            gc.disable()
            clock = process_time if ask.get("clock") == "cpu" else perf_counter
            _say({"ns": [measure(run, ask.get("ms", 2), clock) for _ in range(ask.get("rounds", 1))]})
        except Exception as e:  # of whatever kind: the next request is another one
            prepared = run = None
            _say({"skip": f"{e}" if isinstance(e, Skip) else f"{type(e).__name__}: {e}"})
        finally:
            gc.enable()
