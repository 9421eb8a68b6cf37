"""A `BasicMAC` on a small scheme, and random batches for it."""

from controllers.basic_controller import BasicMAC
from helpers import fill, make_args, random_batch


def make_mac(cls=BasicMAC, batch=None, **changes):
    batch = random_batch([3, 5], 6) if batch is None else batch
    mac = cls(batch.scheme, batch.groups, make_args(rnn_hidden_dim=8, **changes))
    fill(mac.parameters())
    return mac, batch
