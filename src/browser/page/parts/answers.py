"""What the server answers beside pages: refusals of one line, and files."""

from collections.abc import Iterator
from typing import BinaryIO

from flask import Response

CHUNK = 1 << 18


def refusal(text: str, status: int = 403) -> Response:
    """An answer of one line."""
    return Response(text, status, mimetype="text/plain")


def file_answer(file: BinaryIO, mimetype: str, start: int = 0) -> Response:
    """The bytes of an open file from `start` on, as far as it is written now; no cache keeps them.

    Args:
        start: at most its length.
    """
    length = file.seek(0, 2) - start
    file.seek(start)
    answer = Response(_chunks(file, length), mimetype=mimetype)
    answer.call_on_close(file.close)
    answer.content_length = length
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _chunks(file: BinaryIO, length: int) -> Iterator[bytes]:
    """The next bytes of a file: what is added meanwhile would contradict the length that was announced."""
    while length > 0 and (chunk := file.read(min(CHUNK, length))):
        length -= len(chunk)
        yield chunk
