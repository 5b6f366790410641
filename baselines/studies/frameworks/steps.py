"""What both programs share: their arguments, their steps, and what they print."""
import argparse
import json
import sys
import time


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("model", choices=("resnet50", "lstm", "deepcam"))
    parser.add_argument("mode", choices=("inference", "training"))
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, help="pixels of an image's side (224); DeepCAM: of its height, 2/3 of its width (192; the paper's: 768)")
    parser.add_argument("--time-steps", type=int, default=64)
    parser.add_argument("--inputs", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--times", action="store_true", help="print the time of each step: the output then differs from run to run")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true", help="torch.compile, or XLA")
    parser.add_argument("--freeze", action="store_true", help="inference: weights as constants of the graph")
    parser.add_argument("--eager", action="store_true", help="TensorFlow: without tf.function")
    options = parser.parse_args()
    options.size = options.size or (192 if options.model == "deepcam" else 224)
    return options


def run(options, step, facts):
    """Runs the steps. Their results go to standard output, their times to standard error unless --times."""
    seconds = []
    for number in range(options.warm_up + options.steps):
        begin = time.perf_counter()
        result = float(step())
        seconds.append(time.perf_counter() - begin)
        kind = "warm-up" if number < options.warm_up else "step"
        # A progress bar: it ends in no newline while the next step runs.
        print(f"\r\x1b[32m{kind}\x1b[0m {number + 1}/{options.warm_up + options.steps} result {result:.3f}", end="", flush=True)
        if options.times and kind == "step":
            print(f" time: {1e3 * seconds[-1]:.4f} ms, items/s: {options.batch / seconds[-1]:.4f}", flush=True)
    print("\ndone", end="", flush=True)
    print(
        json.dumps({**facts, "batch": options.batch, "warm_up_seconds": sum(seconds[: options.warm_up]), "seconds": seconds[options.warm_up :]}),
        file=sys.stderr,
        flush=True,
    )
