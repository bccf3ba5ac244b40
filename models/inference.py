"""Opening a network file for onnxruntime, the one way all of ours are run: on the CPU."""

from pathlib import Path

import onnxruntime as ort


def session(path: Path, threads: int = 1) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
