import sys

import pytest

from utils.config.imports import not_imported


def test_a_package_is_missing_for_a_while(tmp_path, monkeypatch):
    (tmp_path / "some_package_of_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with not_imported("some_package_of_a_test"), pytest.raises(ImportError):
        import some_package_of_a_test
    import some_package_of_a_test

    with not_imported("some_package_of_a_test"):
        import some_package_of_a_test  # noqa: F401
    assert sys.modules.pop("some_package_of_a_test")
