"""Updates on a data set, before or in place of rollouts."""

from collection.contract import Experience
from collection.synchronous import SyncCollection


class FromData(SyncCollection):
    """Each `take` brings nothing to store and one update of the buffers' data, until `dataset_updates` of them.

    A step of the run (`t_env`) is then an update. After that it plays as `SyncCollection` does, and counts on; with
    `dataset_updates: null` it never does.
    """

    def take(self) -> Experience:
        updates = self.runner.args.dataset_updates
        if updates is not None and self.t_env >= updates:
            return super().take()
        self.t_env = self.runner.t_env = self.t_env + 1
        return Experience(None, self.t_env, 1, 0)
