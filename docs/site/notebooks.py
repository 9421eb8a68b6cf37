"""Notebooks of examples/ as pages of the site: their texts, code and stored outputs."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PICTURES = {"image/png": "png", "image/gif": "gif"}


def write_notebooks(notebooks: Path, folder: Path) -> None:
    """Write a page for each notebook of a folder, and its pictures beside it."""
    folder.mkdir()
    for path in sorted(notebooks.glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        blocks = [block for i, cell in enumerate(cells) for block in _blocks(cell, folder, f"{path.stem}_{i}")]
        note = f"*This page is `examples/{path.name}`, with the outputs of a run.*"
        (folder / f"{path.stem}.md").write_text("\n\n".join([blocks[0], note, *blocks[1:]]) + "\n")


def linked_to_notebooks(text: str) -> str:
    """A page of docs/ whose links to notebooks lead to their pages."""
    return re.sub(r"\]\(\.\./examples/(\w+)\.ipynb\)", r"](notebooks/\1.md)", text)


def _blocks(cell: dict[str, Any], folder: Path, name: str) -> Iterator[str]:
    """Markdown of a cell; pictures of its outputs are written as `<name>.png` or `.gif`."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        # the notebook's links start in examples/, the page's in notebooks/
        yield re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.md)", source).replace("](../docs/", "](../")
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        picture = next((kind for kind in PICTURES if kind in data), None)
        if picture is not None:
            file = folder / f"{name}.{PICTURES[picture]}"
            file.write_bytes(base64.b64decode("".join(data[picture])))
            yield f"![the output]({file.name})"
        else:
            text = "".join(output.get("text", data.get("text/plain", ""))).rstrip("\n")
            yield f"```text\n{text}\n```"
