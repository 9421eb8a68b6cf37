"""Numbers of bytes for people."""

UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def readable_size(count: int) -> str:
    """`count` bytes as "12 bytes", "3.4 KiB", "1.2 GiB"."""
    if count < 1024:
        return f"{count} byte{'' if count == 1 else 's'}"
    exponent = 1
    while count / 1024**exponent >= 1023.95 and exponent < len(UNITS):
        exponent += 1
    return f"{count / 1024**exponent:,.1f} {UNITS[exponent - 1]}"
