"""Every requirement and every handed case has a test that names it, and the manifest says which."""

import re

from tests.support.manifest import BEHAVIOR, CASES, MANIFEST, ids, named, read, renewed, written

RENEW = "run `python -m tests.support.manifest --write`"


def test_every_id_is_shown_by_a_test_that_needs_no_real_model() -> None:
    shown = {
        name: [test for test in tests if not test.startswith("tests/real/")]
        for name, tests in named().items()
    }
    missing = [f"{name}: {entry.title}" for name, entry in read().items() if not shown.get(name)]
    assert not missing, "\n" + "\n".join(missing)


def test_every_id_that_a_test_names_is_in_the_manifest() -> None:
    known = read()
    unknown = {name: tests for name, tests in named().items() if name not in known}
    assert not unknown


def test_the_manifest_lists_the_tests_that_there_are() -> None:
    listed, now = read(), renewed(read())
    stale = [name for name in listed if listed[name] != now[name]]
    assert not stale, f"{RENEW}; it is out of date for {' '.join(stale)}"
    assert MANIFEST.read_text(encoding="utf-8") == written(listed), RENEW


def test_no_group_of_ids_is_left_out() -> None:
    groups = {re.split("-", name)[0] for name in read()}
    assert groups == set(BEHAVIOR.split()) | set(CASES)


def test_an_id_is_read_whole_or_not_at_all() -> None:
    assert ids("CAP-1, COO-12 and P-01; not CAP-1x, XCAP-1, UTF-8, P-1, A-01 or P-011.") == [
        "CAP-1",
        "COO-12",
        "P-01",
    ]
