"""What every benchmark shares: how a call is timed and how a figure is written."""

from collections.abc import Callable, Mapping
from time import process_time
from typing import Any, TypedDict

ROUNDS = 7
ROUND_SECONDS = 0.05  # each case fills this much CPU time in each round


class Result(TypedDict):
    """One figure; `ratio` is `rate` through `floor`, both in `unit`."""

    name: str
    size: int
    rate: float
    unit: str
    floor: float
    ratio: float
    peers: dict[str, float]


def rates(cases: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Return calls per second of CPU time, the best of several interleaved rounds.

    All cases run in every round, so that a slow moment of the machine hits all.
    """
    repeats = {name: _repeats(call) for name, call in cases.items()}
    best = dict.fromkeys(cases, 0.0)
    for _ in range(ROUNDS):
        for name, call in cases.items():
            best[name] = max(best[name], repeats[name] / _spent(call, repeats[name]))
    return best


def result(
    name: str,
    size: int,
    measured: Mapping[str, float],
    *,
    floor: float | None = None,
) -> Result:
    """Make a figure of the rates named `ours`, `floor` and the peers' names.

    `size` is in bytes of what one call handles.
    """
    base = measured["floor"] if floor is None else floor
    peers = {k: v for k, v in measured.items() if k not in {"ours", "floor"}}
    return Result(
        name=name,
        size=size,
        rate=measured["ours"],
        unit="calls/s",
        floor=base,
        ratio=measured["ours"] / base,
        peers=peers,
    )


def _repeats(call: Callable[[], Any]) -> int:
    call()  # warms caches
    return max(1, round(ROUND_SECONDS / _spent(call, 1)))


def _spent(call: Callable[[], Any], repeats: int) -> float:
    start = process_time()
    for _ in range(repeats):
        call()
    return max(process_time() - start, 1e-9)
