"""The notebooks of examples/ run from top to bottom, and hold the outputs of a run that anybody might have made."""

import json
import re
from itertools import groupby
from operator import itemgetter

import pytest

from standins import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
# a folder of somebody's, or a host
PRIVATE = re.compile(r"/(home|root|Users|tmp|work|private|var|opt)/|[A-Z]:\\|https?://")


def _outputs(cell):
    """The texts of a cell's outputs, pictures left out."""
    for output in cell["outputs"]:
        yield "".join(output.get("text", ""))
        yield from ("".join(data) for kind, data in output.get("data", {}).items() if not kind.startswith("image/"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return request.param


def test_there_are_two():
    assert {path.stem for path in NOTEBOOKS} == {"first_run", "own_environment"}


def test_outputs_are_stored_and_tell_nothing_of_a_machine(notebook):
    code = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), "run by jupyter execute"
    kinds = {kind for cell in code for output in cell["outputs"] for kind in output.get("data", {})}
    assert "image/png" in kinds
    for cell in code:
        assert not any(output["output_type"] == "error" or output.get("name") == "stderr" for output in cell["outputs"])
        assert not any(PRIVATE.search(text) for text in _outputs(cell))


@pytest.mark.slow
def test_it_runs_from_top_to_bottom(notebook, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="requirements-dev.txt is not installed")
    pytest.importorskip("ipykernel", reason="requirements-dev.txt is not installed")
    import nbformat

    folder = tmp_path / "examples"
    folder.mkdir()
    (tmp_path / "src").symlink_to(ROOT / "src")
    content = nbformat.read(notebook, as_version=4)
    place = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(content, timeout=250, kernel_name="python3", resources=place).execute()
    stored = json.loads(notebook.read_text())["cells"]
    for before, after in zip(stored, content.cells, strict=True):
        if after.cell_type == "code":
            # what is printed comes in one piece or in several
            kinds = [
                [kind for kind, _ in groupby(cell["outputs"], itemgetter("output_type"))] for cell in (before, after)
            ]
            assert kinds[0] == kinds[1], after.source
