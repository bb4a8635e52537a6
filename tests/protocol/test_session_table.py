"""The life of a session."""

import pytest

from uomp.errors import LocalError
from uomp.protocol.session import FINAL, MOVES, Move, Status, after


@pytest.mark.requirement("UOMP-13.1-1")
def test_there_are_five_states_and_three_are_final() -> None:
    assert {status.value for status in Status} == {
        "created",
        "active",
        "closed",
        "expired",
        "revoked",
    }
    assert {Status.CLOSED, Status.EXPIRED, Status.REVOKED} == FINAL


@pytest.mark.requirement("UOMP-13.1-2")
def test_only_a_grant_makes_a_session_active() -> None:
    reach_active = [move for move, status in MOVES.items() if status is Status.ACTIVE]
    assert reach_active == [(Status.CREATED, Move.GRANT)]


@pytest.mark.requirement("UOMP-13.1-3")
@pytest.mark.parametrize(
    ("move", "status"),
    [
        (Move.CLOSE, "closed"),
        (Move.EXPIRE, "expired"),
        (Move.REVOKE, "revoked"),
        (Move.PROVE, "closed"),
    ],
)
def test_an_active_session_ends_in_four_ways(move: Move, status: str) -> None:
    assert after(Status.ACTIVE, move) == status


@pytest.mark.requirement("UOMP-13.1-4")
@pytest.mark.parametrize("status", sorted(FINAL))
def test_no_move_leaves_a_final_state(status: Status) -> None:
    for move in Move:
        if move in (Move.GRANT, Move.PROVE):
            with pytest.raises(LocalError) as refused:
                after(status, move)
            assert refused.value.code == "STATE_CONFLICT"
        else:
            assert after(status, move) is status
