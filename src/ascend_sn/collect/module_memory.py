"""How much memory each module of a network takes when it runs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["memory_by_module"]


def memory_by_module(model: Any, *inputs: Any, print_table: bool = True) -> list[dict[str, Any]]:
    """Run the model once and return what each of its modules allocated.

    On a device with an allocator of its own (NPU, CUDA) the figures are that allocator's; on the processor they
    are what PyTorch's allocator was asked for while the module ran.

    Args:
        model: A `torch.nn.Module`.
        *inputs: What it is called with.
        print_table: Whether to print a line per module too.

    Returns:
        One dict per module, in the order in which they were first called: `name`, `type`, `call_count`,
        `retained_bytes` (allocated inside and still held when it returned, of its last call) and `peak_bytes` (the
        most that it held at a time beyond what there was before). A module's figures include its children's.

    Raises:
        TypeError: The model is no module of torch.
    """
    from ascend_sn.collect.backends.torch_memory import measured_modules

    rows = measured_modules(model, inputs)
    if print_table:
        for row in rows:
            retained_mb, peak_mb = row["retained_bytes"] / 1e6, row["peak_bytes"] / 1e6
            print(f"{row['name'] or '(model)'}: {retained_mb:.2f}MB held, {peak_mb:.2f}MB at its peak")
    return rows
