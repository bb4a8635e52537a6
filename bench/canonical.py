"""Canonical JSON against the bare calls that it cannot do without, and the reference.

The floor of encoding is `orjson.dumps` with sorted keys, which is not canonical; that
of a digest is the same and SHA-256.
"""

import hashlib
import random
from typing import Any

import orjson
import rfc8785

from bench.harness import Result, rates, result
from uomp.packets.canonical import digest, encode
from uomp.packets.strict import loads

SIZE = 1_400_000
_TEXT = (
    "memory the packet agent session of and who asks naïve café 数据 память 🙂 "
    'said:"yes" C:\\path 1.5 [2.0] ,3.25, 12:30.5'
)
_WORDS = _TEXT.split()


def conversation(*, score: str = "none", size: int = SIZE) -> dict[str, Any]:
    """Return a history of about `size` bytes, the same every time.

    `score` is "none", "fraction" or "whole": the kind of float in every message.
    """
    chooser = random.Random(8785)  # noqa: S311
    messages: list[dict[str, Any]] = []
    made = 0
    while made < size:
        words = [chooser.choice(_WORDS) for _ in range(70)]
        message: dict[str, Any] = {
            "role": ("user", "assistant")[len(messages) % 2],
            "content": " ".join(words) + "\n",
            "id": f"msg_{len(messages):06d}",
            "at": "2026-07-14T10:15:00Z",
            "tokens": 90 + len(messages) % 7,
            "parent": None,
        }
        if score == "fraction":
            message["score"] = chooser.random()
        elif score == "whole":
            message["score"] = float(chooser.randrange(100))
        messages.append(message)
        made += len(orjson.dumps(message)) + 1
    return {"memory_type": "conversation_history", "messages": messages}


def run() -> list[Result]:
    encoding = [_encoding(score) for score in ("none", "fraction", "whole")]
    return [*encoding, _digest(), _loading()]


def _encoding(score: str) -> Result:
    value = conversation(score=score)
    expected = rfc8785.dumps(value)
    if encode(value) != expected:
        raise AssertionError("these are not the bytes of the reference")
    measured = rates(
        {
            "ours": lambda: encode(value),
            "floor": lambda: orjson.dumps(value, option=orjson.OPT_SORT_KEYS),
            "rfc8785": lambda: rfc8785.dumps(value),
        }
    )
    return result(f"canonical encode, floats: {score}", len(expected), measured)


def _digest() -> Result:
    value = conversation()
    expected = encode(value)

    def floor() -> None:
        orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        hashlib.sha256(expected).digest()

    measured = rates(
        {
            "ours": lambda: digest(value),
            "floor": floor,
            "rfc8785": lambda: hashlib.sha256(rfc8785.dumps(value)).digest(),
        }
    )
    return result("canonical digest", len(expected), measured)


def _loading() -> Result:
    data = encode(conversation())
    measured = rates(
        {
            "ours": lambda: loads(data),
            "floor": lambda: orjson.loads(data),
            "orjson and rfc8785": lambda: rfc8785.dumps(orjson.loads(data)) == data,
        }
    )
    return result("strict loads of canonical bytes", len(data), measured)
