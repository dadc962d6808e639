"""What the Ascend PyTorch profiler (torch_npu) writes: run folders with text and database exports."""
