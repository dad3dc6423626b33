"""A backend definition in use, and its end when a changed one has taken its place."""

from tests.support.fakes import FakeBackend, answer, provider


def test_only_a_retired_provider_without_users_is_idle() -> None:
    """OWN-4: the last user of a retired one lets its connections go."""
    used = provider(FakeBackend(answer()))
    assert not used.idle
    with used:
        with used:
            used.retire()
        assert not used.idle
    assert used.idle
