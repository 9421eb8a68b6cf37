"""Numbers of bytes as people read them."""

import pytest

from utils.sizes import readable_size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (2**20 - 60, "1,023.9 KiB"),
        (2**20 - 50, "1.0 MiB"),
        (2**20 * 3 // 2, "1.5 MiB"),
        (5 * 2**29, "2.5 GiB"),
        (3 * 2**39, "1.5 TiB"),
        (10**13 * 2**60, "10,000,000,000,000.0 EiB"),
    ],
)
def test_readable_sizes(count, text):
    assert readable_size(count) == text
