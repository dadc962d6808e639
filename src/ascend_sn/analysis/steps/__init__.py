"""Where a step goes: its parts, phases, modules, input, and how steps differ."""
