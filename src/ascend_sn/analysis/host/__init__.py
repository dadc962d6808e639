"""What the host does: calls, launches, pauses, and why the device was free."""
