"""Sacred's capture: output goes to the terminal, laid out for it, and plainly into the record."""

from sacred import stdout_capturing

TeeingStreamProxy = stdout_capturing.TeeingStreamProxy


class CapturedStream(TeeingStreamProxy):
    """Stands in for `sys.stdout` and `sys.stderr` while a run is recorded; code that keeps it may use it afterwards.

    Libraries imported during a run take the present `sys.stdout` for the terminal and write to it at any time, at exit
    at the latest. Sacred's own proxy fails by then, since the record is closed.
    """

    def write(self, data: str) -> int:
        return self.write_laid_out(data, data)

    def writelines(self, lines) -> None:
        self.write("".join(lines))

    def write_laid_out(self, shown: str, recorded: str) -> int:
        """Write a text that looks different on the terminal and in the record."""
        # first into the record, which is there when the terminal is not
        if not self._self_out.closed:
            self._self_out.write(recorded)
        self.__wrapped__.write(shown)
        return len(shown)

    def flush(self) -> None:
        self.__wrapped__.flush()
        if not self._self_out.closed:
            self._self_out.flush()


def capture_with_lasting_streams() -> None:
    """Have Sacred capture with `CapturedStream`; it has no setting for that."""
    stdout_capturing.TeeingStreamProxy = CapturedStream  # type: ignore[misc]
