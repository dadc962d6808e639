"""What collectives and links do: waiting, transfer, bandwidth, overlap with compute."""
