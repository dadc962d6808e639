"""The recorder's file `train.trace`: columns, row kinds, metadata keys and well-known names.

Plain tuples and numbers, shared by the writing side (`collect`) and the reading side (`formats`); importing
this module loads nothing else, because the recorder does so in the user's process. The page
`docs/reference/train-trace.md` describes the file; numbers given here are never reused.
"""

from __future__ import annotations

TRACE_NAME = "train.trace"
NAMES_NAME = "names.trace"

RING_NAME = "spans.ring"
"""File beside the two in which rows wait to be written; it is there while a session is open, and stays behind
when the process was killed."""

NPU_FOLDER = "torch_npu"
"""Folder beside the two files that holds the exports of torch_npu's profiler, where that was at work."""

TRACE_VERSION = 1
"""Format version of both files; a reader reads every version up to its own."""

COLUMNS = (
    ("kind", "uint8"),
    ("thread", "int32"),
    ("name_id", "int32"),
    ("ts_ns", "int64"),
    ("dur_ns", "int64"),
    ("value", "int64"),
    ("ref", "int64"),
)
"""Columns of the Arrow stream, in order, none nullable: 41 bytes a row."""

NOT_GIVEN = -1
"""What `name_id`, `value` and `ref` hold where the row has no such thing."""

# Keys of the Arrow schema's metadata. The values are text; all but the version are JSON objects.
VERSION_KEY = "ascend_sn.trace.version"
PROCESS_KEY = "ascend_sn.trace.process"
CONFIG_KEY = "ascend_sn.trace.config"
CLOCK_KEY = "ascend_sn.trace.clock"

NAMES_FORMAT = "ascend-sn.names"
"""Value of `format` in the first line of `names.trace`."""

# Row kinds.
SESSION_START = 1
SESSION_END = 2
STEP = 3
THREAD = 4
METRIC = 5
COUNTER = 6
MEMORY = 7
OPERATOR = 8
LOST = 9
HOST_CALL = 10
KERNEL = 11
MEMORY_TOTAL = 12
FLOW_START = 13
FLOW_END = 14
CAPTURE = 15
SPAN = 16
SPAN_COMPUTE = 17
SPAN_COMMUNICATION = 18
SPAN_DATA = 19
SPAN_COPY = 20
SPAN_OTHER = 21
SPAN_FORWARD = 22
SPAN_BACKWARD = 23
SPAN_OPTIMIZER = 24
FRAME = 32
DEFAULT_GROUP = "default"
"""Communicator of a collective for which no group was named: all ranks of the job."""

OPEN_FLAG = 64
"""Added to a span kind when the span was still open when its session ended; it is cut there."""

SPAN_CLASSES = (
    ("compute", SPAN_COMPUTE),
    ("communication", SPAN_COMMUNICATION),
    ("data", SPAN_DATA),
    ("copy", SPAN_COPY),
    ("other", SPAN_OTHER),
    ("forward", SPAN_FORWARD),
    ("backward", SPAN_BACKWARD),
    ("optimizer", SPAN_OPTIMIZER),
)
"""What `start_op(kind=...)` accepts, and the row kind that says so; a plain `SPAN` leaves it to the name."""

STEP_ORIGINS = ("optimizer", "data loader")
"""Name of a STEP row that was found and not marked by the program: what showed it."""

COMPUTE_CLASSES = ("compute", "forward", "backward", "optimizer")
"""Classes whose time counts as computing."""

DATA_TIME_METRIC = "data_time"
"""A `log_metric` of this name holds seconds spent on loading data."""

SPAN_COST_METRIC = "profiler.span_cost_ns"
MISSING_STEPS_METRIC = "profiler.missing_steps"
FLUSH_METRIC = "profiler.flush_ns"
COLLECTIONS_METRIC = "profiler.collections_ns"
"""Time that all garbage collections of a session took; where it stands, those without a row were short."""

COLLECTION_NAME = "GC"
COLLECTION_CATEGORY = "gc"
"""Text and category of a HOST_CALL row that is a garbage collection of Python."""

RESIDENT_COUNTER = "process.resident_bytes"

# Metrics that say what surrounds the program: the recorder logs what it knows, and a program may log them too.
WORKERS_METRIC = "num_workers"
"""Worker processes of the data loader, 0 without any."""

CORES_METRIC = "cpu_count"
"""Processor cores that the process may use."""

HOST_MEMORY_METRIC = "host_memory_available_bytes"
"""Memory of the host that is left; of several values the least counts."""

SHARED_MEMORY_METRIC = "shm_free_bytes"
"""Free space of the shared memory file system; of several values the least counts."""

CAPACITY_METRIC = "memory_capacity_bytes"
"""Memory of the device."""

SURROUNDINGS = (WORKERS_METRIC, CORES_METRIC, HOST_MEMORY_METRIC, SHARED_MEMORY_METRIC, CAPACITY_METRIC)
"""All of them: they are no measurements of the program."""

# Names are compared in lower case with letters and digits only: "All-Reduce" and "all_reduce" are one.
WELL_KNOWN_NAMES = (
    ("data", (
        "data", "dataload", "dataloader", "dataloading", "datatime", "datawait", "fetchbatch", "fetchdata",
        "getbatch", "inputpipeline", "loadbatch", "loaddata", "nextbatch", "preprocess", "preprocessing",
        "readbatch", "readdata",
    )),
    ("forward", (
        "forward", "forwardpass", "fwd",
    )),
    ("backward", (
        "backward", "backwardpass", "bwd",
    )),
    ("optimizer", (
        "optim", "optimizer", "optimizerstep", "optimstep", "optimizerupdate", "weightupdate",
    )),
    ("communication", (
        "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "broadcast", "comm",
        "communication", "gradientsync", "gradsync", "receive", "recv", "reducescatter", "send",
        "syncgradients",
    )),
    ("copy", (
        "copy", "copyin", "copyout", "copytodevice", "d2d", "d2h", "devicetohost", "h2d", "hosttodevice",
        "memcpy", "todevice", "tonpu",
    )),
    ("compute", (
        "attention", "bmm", "compute", "conv2d", "embedding", "gelu", "gemm", "infer", "inference",
        "layernorm", "linear", "loss", "matmul", "mm", "predict", "relu", "softmax", "trainbatch",
        "trainstep",
    )),
)  # fmt: skip
"""Class of a span whose kind was not given, by its name."""

COMMUNICATION_PREFIXES = ("gloo", "hccl", "hcom", "nccl")
"""A name that starts so is a call of a communication library."""

_CLASS_OF_NAME = {name: class_name for class_name, names in WELL_KNOWN_NAMES for name in names}


def class_of_name(name: str) -> str | None:
    """Return the class that a span's name suggests; None when the name says nothing."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    found = _CLASS_OF_NAME.get(plain)
    if found is None and plain.startswith(COMMUNICATION_PREFIXES):
        return "communication"
    return found
