"""Run folders of the MindSpore profiler: the tree of torch_npu with a few files of its own."""
