"""Scopes: what they cover, what they refuse, how they are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uomp.errors import PeerError
from uomp.packets.items import Sensitivity
from uomp.protocol.scope import Scope, Scopes, difference, parse_scopes, refusal

NAMES = st.sampled_from(["a", "b", "c", "A", "a:b", "é", "e\N{COMBINING ACUTE ACCENT}"])
SETS = st.lists(NAMES, max_size=4, unique=True).map(tuple)
SCOPES = st.builds(Scope, tags=SETS, keys=SETS, deny_tags=SETS, deny_keys=SETS)
LEVELS: st.SearchStrategy[Sensitivity] = st.sampled_from(["low", "medium", "high"])


@given(scope=SCOPES, key=NAMES, tags=SETS, level=LEVELS)
def test_the_decision_is_that_of_the_plain_predicate(
    scope: Scope, key: str, tags: tuple[str, ...], level: Sensitivity
) -> None:
    """The rule of A-15 in one line, as the reference."""
    named = key in scope.keys
    tagged = bool(set(tags) & set(scope.tags))
    denied = key in scope.deny_keys or bool(set(tags) & set(scope.deny_tags))
    allowed = (named or tagged) and not denied and (level != "high" or named)
    assert (refusal(scope, key, tags, level) is None) == allowed


@pytest.mark.requirement("UOMP-11.3-1")
def test_high_sensitivity_is_not_reached_by_a_tag() -> None:
    assert refusal(Scope(tags=("t",)), "k", ("t",), "high") is not None
    assert refusal(Scope(keys=("k",)), "k", ("t",), "high") is None


def test_a_denial_beats_a_key_that_is_granted_by_name() -> None:
    scope = Scope(keys=("bank.iban",), deny_tags=("financial",))
    assert refusal(scope, "bank.iban", ("financial",), "medium") is not None


def test_the_spellings_of_other_clients_are_understood() -> None:
    read = {"tags": ["t"], "keys": [], "denyTags": ["x"], "denyKeys": ["y"]}
    assert parse_scopes({"read": read}).read == Scope(
        tags=("t",), deny_tags=("x",), deny_keys=("y",)
    )


def test_an_absent_action_is_empty() -> None:
    assert parse_scopes({}) == Scopes()


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"read": []},
        {"read": {"tags": ["t"]}},
        {"read": {"keys": ["k"]}},
        {"read": {"tags": "t", "keys": []}},
        {"read": {"tags": [1], "keys": []}},
        {"read": {"tags": [""], "keys": []}},
        {"read": {"tags": ["x" * 300], "keys": []}},
        {"read": {"tags": ["t"] * 300, "keys": []}},
        {"read": {"tags": [], "keys": [], "deny_tags": [], "denyTags": []}},
    ],
)
def test_a_malformed_scope_is_refused(value: object) -> None:
    with pytest.raises(PeerError) as refused:
        parse_scopes(value)
    assert refused.value.code == "INVALID_REQUEST"


@given(scope=SCOPES)
def test_what_is_written_is_read_back(scope: Scope) -> None:
    scopes = Scopes(read=scope)
    assert parse_scopes(scopes.to_json()) == scopes


def test_the_difference_names_what_was_not_asked_for() -> None:
    more = difference(Scope(tags=("a",)), Scope(tags=("a", "b"), keys=("k",)))
    assert more == {"tags": ["b"], "keys": ["k"]}
    assert difference(Scope(tags=("a", "b")), Scope(tags=("a",))) == {}
