"""Which opened messages are let in, and what is said of those that are not."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from didcomm_peers import (
    ALICE,
    BOB,
    CAROL,
    MALLORY,
    NOW,
    PING,
    Peer,
    anon,
    auth,
    opened,
    ping,
)
from uomp.errors import Code, EnvelopeError
from uomp.packets.canonical import encode
from uomp.protocol.didcomm import jws
from uomp.protocol.didcomm.build import plaintext
from uomp.protocol.didcomm.message import Message, Plaintext, attach, normalise_type
from uomp.protocol.didcomm.policy import MAX_LIFETIME_SECONDS, check
from uomp.protocol.didcomm.refusal import Problem, RefusalError
from uomp.protocol.didcomm.unpack import read_plaintext
from uomp.protocol.messages import types

DAY = 24 * 3600
UOMP_TYPES = [
    types.AUTHORIZE_REQUEST,
    types.AUTHORIZE_RESPONSE,
    types.PAYLOAD_READY,
    types.SESSION_REVOKED,
    types.HANDOFF_REQUEST,
    types.HANDOFF_DELIVER,
]


def let_in(packed: bytes, *, now: int = NOW, require: Any = "authcrypt") -> Message:
    return check(opened(packed), our_dids=(BOB.did,), now=now, require=require)


def sent(_sender: Peer = ALICE, /, **members: Any) -> bytes:
    """Pack a ping whose members are as given, whether or not they may be so."""
    value = json.loads(plaintext(ping())) | members
    kept = {name: member for name, member in value.items() if member is not ...}
    return auth(encode(kept), _sender)


def refused(packed: bytes, problem: Problem, **how: Any) -> None:
    with pytest.raises(EnvelopeError) as caught:
        let_in(packed, **how)
    assert isinstance(caught.value, RefusalError)
    assert caught.value.code is Code.ENVELOPE_REFUSED
    assert caught.value.problem is problem
    assert ALICE.did not in caught.value.public


# ---- what comes out --------------------------------------------------------


@pytest.mark.requirement("SYS-5", "DER-11")
def test_a_message_is_let_in_with_its_proved_sender() -> None:
    message = let_in(auth(plaintext(ping(thid="t", pthid="p", please_ack=("",)))))
    assert message.authenticated
    assert (message.frm, message.sender) == (ALICE.did, ALICE.kid)
    assert (message.id, message.type, message.to) == ("ping-1", PING, (BOB.did,))
    assert (message.created_time, message.expires_time) == (NOW, NOW + 3600)
    assert message.body == {"response_requested": True}
    assert (message.thread, message.pthid, message.please_ack) == ("t", "p", ("",))
    assert message.return_route == "none"


def test_what_a_message_says_is_not_shown_by_its_repr() -> None:
    made = attach("packet", b"secret", media_type="text/plain")
    draft = ping(body={"token": "secret"}, attachments=(made,))
    shown = opened(auth(plaintext(draft)))
    for value in (draft, made, shown, let_in(auth(plaintext(draft)))):
        assert "secret" not in repr(value)
        assert made.data.base64 not in repr(value)  # type: ignore[operator]
    assert "ping-1" in repr(draft)


def test_a_message_without_thread_begins_one() -> None:
    assert let_in(auth(plaintext(ping()))).thread == "ping-1"


def test_what_may_be_left_out_may_be_left_out() -> None:
    bare = {"id": "1", "type": PING, "from": ALICE.did}
    message = let_in(auth(encode(bare)))
    assert (message.body, message.to, message.attachments) == ({}, (), ())
    nulls: dict[str, Any] = dict.fromkeys(
        ["to", "thid", "created_time", "body", "attachments"]
    )
    assert let_in(auth(encode(bare | nulls))) == message


@pytest.mark.parametrize(
    "typ", ["application/didcomm-plain+json", "didcomm-plain+json", ...]
)
def test_the_media_type_may_be_short_or_absent(typ: object) -> None:
    assert let_in(sent(typ=typ)).id == "ping-1"


def test_the_long_form_of_a_did_is_as_good_as_the_short_one() -> None:
    members: dict[str, Any] = {"from": ALICE.forms.long, "to": [BOB.forms.long]}
    assert let_in(sent(**members)).frm == ALICE.forms.long


# ---- 1. the road -----------------------------------------------------------


@pytest.mark.parametrize("type_", UOMP_TYPES)
@pytest.mark.requirement("DER-11", "SYS-5")
def test_what_needs_a_proved_sender_comes_encrypted_by_one_or_not(type_: str) -> None:
    data = plaintext(ping(type=type_))
    signed = jws.sign_message(data, ALICE.signer)
    for accepted in (auth(data), anon(auth(data)), auth(signed)):
        assert let_in(accepted).sender == ALICE.kid
    for other in (anon(data), anon(signed), signed, data):
        refused(other, Problem.UNTRUSTED)


@pytest.mark.requirement("DER-11")
def test_other_messages_may_come_signed_or_anonymous_but_never_bare() -> None:
    data = plaintext(ping())
    signed = jws.sign_message(data, ALICE.signer)
    assert let_in(signed, require="any").sender == ALICE.signer.key_id
    assert let_in(anon(signed), require="any").authenticated
    unknown = let_in(anon(data), require="any")
    assert (unknown.authenticated, unknown.sender) == (False, None)
    refused(data, Problem.UNTRUSTED, require="any")


@pytest.mark.requirement("DER-11")
def test_mutual_tls_proves_a_sender_as_well() -> None:
    data = plaintext(ping(type=types.PAYLOAD_READY))

    def over_tls(sender: Peer, receiver: Peer = BOB) -> Message:
        read = read_plaintext(data, sender=sender.did, recipient=receiver.did)
        return check(read, our_dids=(BOB.did,), now=NOW, require="authcrypt")

    assert over_tls(ALICE).sender == ALICE.did
    with pytest.raises(RefusalError, match="another sender"):
        over_tls(MALLORY)
    with pytest.raises(RefusalError, match="another node"):
        over_tls(ALICE, CAROL)
    for no_plaintext in (auth(data), b"{", b"[]"):
        with pytest.raises(RefusalError):
            read_plaintext(no_plaintext, sender=ALICE.did, recipient=BOB.did)


# ---- 2. to 4. members ------------------------------------------------------


@pytest.mark.parametrize(
    "members",
    [
        {"id": ...},
        {"id": ""},
        {"id": 7},
        {"id": None},
        {"id": "a\0b"},
        {"id": "a\nb"},
        {"id": "x" * 257},
        {"id": "é" * 200},
        {"thid": "a\0b"},
        {"pthid": "x" * 257},
        {"type": ...},
        {"type": 7},
        {"type": "ping"},
        {"type": "uomp/"},
        {"type": "uomp/a/b"},
        {"type": "https://didcomm.org/trust-ping/ping"},
        {"type": "trust-ping/2.0/ping"},
        {"type": "https://didcomm.org/trust-ping/2.0/ping\n"},
        {"type": "https://" + "x" * 600 + "/trust-ping/2.0/ping"},
        {"typ": "application/didcomm-encrypted+json"},
        {"typ": "text/plain"},
        {"typ": 7},
        {"from": 7},
        {"to": BOB.did},
        {"to": [7]},
        {"to": [BOB.did] * 101},
        {"body": []},
        {"body": "x"},
        {"created_time": "2027-01-01T00:00:00Z"},
        {"created_time": True},
        {"created_time": NOW + 0.5},
        {"expires_time": -1},
        {"expires_time": str(NOW)},
        {"please_ack": "x"},
        {"please_ack": [7]},
        {"pthid": "é" * 129},
        {"thid": "é" * 129},
        {"please_ack": ["x"] * 17},
        {"please_ack": ["x" * 257]},
        {"please_ack": ["é" * 129]},
        {"please_ack": ["a\nb"]},
        {"ack": ["x"] * 17},
        {"ack": ["x" * 257]},
        {"ack": ["x", "é" * 129]},
        {"return_route": "some"},
        {"attachments": {}},
        {"attachments": [{}]},
        {"attachments": [{"data": {}}]},
        {"attachments": [{"data": {"base64": 7}}]},
        {"attachments": [{"data": {"base64": "AA", "json": 1}}]},
        {"attachments": [{"data": {"links": ["https://a.example"]}}]},
        {"attachments": [{"data": {"links": [], "hash": "z"}}]},
        {"attachments": [{"data": {"links": "x", "hash": "z"}}]},
        {"attachments": [{"id": "1", "data": {"json": n}} for n in range(2)]},
        {"attachments": [{"data": {"json": n}} for n in range(65)]},
        {"attachments": [{"data": {"json": 1}, "byte_count": -1}]},
    ],
)
def test_a_member_that_is_not_as_it_must_be_is_refused(members: dict[str, Any]) -> None:
    refused(sent(**members), Problem.MALFORMED)


@pytest.mark.parametrize("id_", ["x" * 256, "é" * 128])
def test_ids_and_acknowledgements_may_be_as_long_as_the_limit(id_: str) -> None:
    sixteen = [id_] * 16
    message = let_in(sent(id=id_, thid=id_, pthid=id_, ack=sixteen, please_ack=sixteen))
    assert (message.id, message.thid, message.pthid) == (id_, id_, id_)
    assert message.ack == message.please_ack == tuple(sixteen)


def test_a_short_type_is_the_long_one() -> None:
    message = let_in(sent(type="uomp/authorize-request"))
    assert message.type == types.AUTHORIZE_REQUEST


@pytest.mark.parametrize(
    "type_",
    [
        PING,
        "https://example.com/protocols/lets_do_lunch/1.0/proposal",
        "did:sov:BzCbsNYhMrjHiqZDTUASHg;spec/basic/1.0/message",
        *UOMP_TYPES,
    ],
)
def test_a_message_type_uri_stays_as_it_is(type_: str) -> None:
    assert normalise_type(type_) == type_


def test_attachments_come_out_typed() -> None:
    made = attach("packet", b"\xff\x00", media_type="application/uomp-packet+json")
    link = {"data": {"links": ["https://a.example/x"], "hash": "zQm"}, "id": "far"}
    data = json.loads(plaintext(ping(attachments=(made,))))
    data["attachments"] += [link, {"data": {"json": None}}]
    first, second, third = let_in(auth(encode(data))).attachments
    assert first == made
    assert first.read() == b"\xff\x00"
    assert second.data.links == ("https://a.example/x",)
    assert third.data.json is None
    for unread in (second, third):
        with pytest.raises(RefusalError):
            unread.read()


# ---- 5. and 6. from and to -------------------------------------------------


@pytest.mark.requirement("SYS-5", "DER-12")
def test_nobody_speaks_in_the_name_of_another() -> None:
    refused(sent(MALLORY), Problem.UNTRUSTED)
    refused(sent(ALICE, **{"from": MALLORY.did}), Problem.UNTRUSTED)
    refused(sent(ALICE, **{"from": ...}), Problem.MALFORMED)
    assert let_in(sent(MALLORY, **{"from": MALLORY.did})).frm == MALLORY.did


@pytest.mark.requirement("DER-12")
def test_who_signs_and_who_encrypts_must_be_one() -> None:
    data = plaintext(ping())
    refused(auth(jws.sign_message(data, MALLORY.signer)), Problem.UNTRUSTED)
    refused(auth(jws.sign_message(data, ALICE.signer), MALLORY), Problem.UNTRUSTED)


def test_a_long_form_with_a_stolen_hash_is_nobody() -> None:
    stolen = f"{ALICE.did}:{MALLORY.forms.long.rpartition(':')[2]}"
    refused(sent(ALICE, **{"from": stolen}), Problem.UNTRUSTED)
    refused(sent(to=[f"{BOB.did}:zzz"]), Problem.UNTRUSTED)


@pytest.mark.requirement("DER-13")
def test_a_message_to_somebody_else_is_not_ours() -> None:
    refused(sent(to=[CAROL.did]), Problem.UNTRUSTED)
    refused(sent(to=[]), Problem.UNTRUSTED)
    assert let_in(sent(to=[CAROL.did, BOB.did])).to == (CAROL.did, BOB.did)
    with pytest.raises(RefusalError) as caught:
        check(opened(sent()), our_dids=(CAROL.did,), now=NOW, require="any")
    assert caught.value.problem is Problem.NOT_FOR_US


def test_to_must_name_the_did_whose_key_opened_it_not_just_any_of_ours() -> None:
    packed = opened(sent(to=[CAROL.did]))
    with pytest.raises(RefusalError, match="not addressed"):
        check(packed, our_dids=(CAROL.did, BOB.did), now=NOW, require="any")


def test_a_signed_message_must_be_addressed_to_one_of_ours_too() -> None:
    data = plaintext(ping(to=(CAROL.did,)))
    refused(jws.sign_message(data, ALICE.signer), Problem.UNTRUSTED, require="any")


# ---- 7. times --------------------------------------------------------------


@pytest.mark.parametrize("type_", UOMP_TYPES)
@pytest.mark.requirement("DER-13")
def test_messages_that_act_need_both_times_and_at_most_a_week(type_: str) -> None:
    week = NOW + MAX_LIFETIME_SECONDS
    assert let_in(sent(type=type_, expires_time=week)).type == type_
    refused(sent(type=type_, expires_time=week + 1), Problem.TIME)
    refused(sent(type=type_, expires_time=...), Problem.MALFORMED)
    refused(sent(type=type_, created_time=...), Problem.MALFORMED)


@pytest.mark.requirement("DER-13")
def test_the_short_type_needs_its_times_as_well() -> None:
    refused(sent(type="uomp/payload-ready", expires_time=...), Problem.MALFORMED)


@pytest.mark.requirement("DER-13")
def test_a_message_is_good_until_it_expires_and_no_second_longer() -> None:
    packed = sent(expires_time=NOW + 10)
    assert let_in(packed, now=NOW + 9).id == "ping-1"
    refused(packed, Problem.TIME, now=NOW + 10)
    refused(packed, Problem.TIME, now=NOW + DAY)


@pytest.mark.requirement("DER-13")
def test_another_clock_may_be_two_minutes_ahead() -> None:
    assert let_in(sent(created_time=NOW + 120)).created_time == NOW + 120
    refused(sent(created_time=NOW + 121), Problem.TIME)


def test_a_ping_may_be_good_for_ever() -> None:
    assert let_in(sent(expires_time=...), now=NOW + 400 * DAY).expires_time is None


@settings(max_examples=60)
@given(st.integers(-DAY, 9 * DAY), st.integers(-DAY, 9 * DAY))
def test_times_are_judged_as_they_are_written(created: int, expires: int) -> None:
    data = ping(
        type=types.PAYLOAD_READY, created_time=NOW + created, expires_time=NOW + expires
    )
    fine = created <= 120 and 0 < expires <= created + MAX_LIFETIME_SECONDS
    read = read_plaintext(plaintext(data), sender=ALICE.did, recipient=BOB.did)
    if fine:
        assert check(read, our_dids=(BOB.did,), now=NOW, require="authcrypt").id
        return
    with pytest.raises(RefusalError) as caught:
        check(read, our_dids=(BOB.did,), now=NOW, require="authcrypt")
    assert caught.value.problem is Problem.TIME


# ---- whatever comes --------------------------------------------------------

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**53 - 1)
    | st.text("aé\0#:/", max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner)
    ),
    max_leaves=6,
)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(Plaintext.__struct_encode_fields__), ANYTHING))
def test_nothing_but_our_error_comes_out_of_a_plaintext(
    members: dict[str, Any],
) -> None:
    data = json.loads(plaintext(ping())) | members
    read = read_plaintext(encode(data), sender=ALICE.did, recipient=BOB.did)
    try:
        message = check(read, our_dids=(BOB.did,), now=NOW, require="any")
    except RefusalError as error:
        problem = error.problem
    else:
        assert message.frm == ALICE.did
        return
    assert problem in set(Problem)
