"""scripts/exceptions: no exception to the rules without its line in the list."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "exceptions"
MARKED = "import pytest\n\n@pytest.mark.skip(reason='later')\ndef test_a() -> None: ...\n"
MARKED_LINE = "tests/test_a.py | mark.skip | 1 | waits for b"
SKIPPED = '<testcase file="tests/test_a.py" name="test_a"><skipped type="pytest.skip"/></testcase>'
SKIPPED_LINE = "tests/test_a.py | skipped in the run | 1 | waits for b"


def check(
    root: Path, source: str = "", lines: str = "", cases: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the script on a repository with one test file, one list and one test report."""
    (root / "tests").mkdir()
    (root / ".reports").mkdir()
    (root / "tests/test_a.py").write_text(source)
    (root / "tests/exceptions.txt").write_text(lines)
    (root / ".reports/junit.xml").write_text(f"<testsuites>{cases}</testsuites>")
    for other in ("junit-covering", "junit-web"):
        (root / f".reports/{other}.xml").write_text("<testsuites/>")
    return subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("import pytest\nx = pytest.mark.skip\n", "mark.skip"),
        ("import pytest\nx = pytest.mark.skipif(True, reason='')\n", "mark.skipif"),
        ("from pytest import mark\nx = mark.xfail\n", "mark.xfail"),
        ("import pytest\npytest.skip('')\n", "pytest.skip"),
        ("import pytest\npytest.importorskip('x')\n", "pytest.importorskip"),
        ("from pytest import importorskip\n", "pytest.importorskip"),
        ("x = 1  # pragma: no cover\n", "no cover"),
        ("x = 1  # pragma: no branch\n", "no branch"),
        ("x = 1  # type: ignore[misc]\n", "type: ignore"),
        ("x = 1  # noqa: E501\n", "noqa"),
    ],
)
def test_an_exception_must_be_listed(tmp_path: Path, source: str, kind: str) -> None:
    done = check(tmp_path, source)
    assert done.returncode == 1
    assert f"tests/test_a.py | {kind}: found 1, listed 0" in done.stderr


def test_listed_exceptions_pass_and_are_printed(tmp_path: Path) -> None:
    done = check(tmp_path, MARKED, f"{MARKED_LINE}\n# why\n\n{SKIPPED_LINE}\n", SKIPPED)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tests/test_a.py | mark.skip | 1\n" in done.stdout
    assert "2 exceptions, 0 differences" in done.stdout


def test_a_list_that_outlived_its_exception_fails(tmp_path: Path) -> None:
    done = check(tmp_path, "", MARKED_LINE)
    assert done.returncode == 1
    assert "mark.skip: found 0, listed 1" in done.stderr


def test_a_test_skipped_only_at_run_time_fails(tmp_path: Path) -> None:
    done = check(tmp_path, "", "", SKIPPED)
    assert done.returncode == 1
    assert "skipped in the run: found 1, listed 0" in done.stderr


def test_a_test_that_failed_as_expected_fails_unlisted(tmp_path: Path) -> None:
    done = check(tmp_path, "", "", SKIPPED.replace("pytest.skip", "pytest.xfail"))
    assert done.returncode == 1
    assert "xfailed in the run: found 1, listed 0" in done.stderr


def test_a_string_that_looks_like_an_exception_is_none(tmp_path: Path) -> None:
    assert check(tmp_path, 'x = "pytest.mark.skip  # noqa"\n').returncode == 0


def test_a_line_without_a_reason_is_refused(tmp_path: Path) -> None:
    done = check(tmp_path, MARKED, MARKED_LINE.removesuffix("waits for b"))
    assert done.returncode == 1
    assert "exceptions.txt:1: expected" in done.stderr


def test_no_report_of_a_run_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1
    assert "run `make test` first" in done.stderr
