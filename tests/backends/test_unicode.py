from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.backends.unicode import WellFormed, well_formed

HALVES = st.text(st.sampled_from(["a", "é", "\ud83d", "\ude00", "\U0001f600", "\ufffd"]))


def test_half_pairs_are_joined_and_lone_ones_replaced_one_for_one() -> None:
    assert well_formed("a\ud83d\ude00b") == "a\U0001f600b"
    assert well_formed("\ud83dx\ude00") == "\ufffdx\ufffd"
    assert well_formed("\ude00\ud83d") == "\ufffd\ufffd"
    assert well_formed("é\u2028") == "é\u2028"


@given(st.lists(HALVES))
def test_pieces_give_what_the_whole_gives(pieces: list[str]) -> None:
    clean = WellFormed()
    shown = [clean.feed(piece) for piece in pieces]
    shown.append(clean.flush())
    whole = "".join(shown)
    assert whole == well_formed("".join(pieces))
    whole.encode()
