"""Identifiers and times as the running program makes them."""

from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from uomp.node.clock import SystemClock, new_id, random_bytes
from uomp.packets.ids import Prefix
from uomp.packets.times import format_time, parse_time


@pytest.mark.requirement("DER-22")
@pytest.mark.parametrize("prefix", get_args(Prefix))
def test_identifiers_have_over_128_random_bits(prefix: Prefix) -> None:
    made = {new_id(prefix) for _ in range(200)}
    assert len(made) == 200
    raw = [urlsafe_b64decode(one.removeprefix(f"{prefix}_")) for one in made]
    assert {len(one) * 8 for one in raw} == {144}
    # Every bit is one and zero in some of them: none is fixed or counted up.
    for bit in range(144):
        seen = {int.from_bytes(one) >> bit & 1 for one in raw}
        assert seen == {0, 1}, bit
    assert len({random_bytes(16) for _ in range(50)}) == 50


@pytest.mark.requirement("DER-21")
def test_the_machines_clock_is_in_utc_and_written_with_z() -> None:
    now = SystemClock().now()
    assert now.tzinfo is UTC
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)
    text = format_time(now)
    assert text.endswith("Z")
    assert parse_time(text) == now.replace(microsecond=0)
    noon = datetime(2026, 7, 12, 10, 0, tzinfo=UTC)
    assert parse_time("2026-07-12T12:00:00+02:00") == noon
    assert format_time(parse_time("2026-07-12T12:00:00.250+02:00")) == (
        "2026-07-12T10:00:00Z"
    )
