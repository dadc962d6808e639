"""What the captures are worth: their quality, their clocks, what they lack and cost."""
