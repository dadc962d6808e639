"""What the device does: kernels by type, shape, unit and roof, and what could be fused or spared."""
