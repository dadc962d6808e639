"""The shared words of ascend-sn: table schemas, columns in memory, units, ledger, manifest."""
