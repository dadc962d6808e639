"""PyTorch (Kineto) traces: `*.pt.trace.json`, plain or gzip."""
