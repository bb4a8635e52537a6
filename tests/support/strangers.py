"""A peer that is no node of ours: it makes its own envelopes and packets, good or bad.

It has real keys and a did:peer:4, posts over a real socket and listens on one.
"""

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from support.live import Live
from support.nodes import PATIENCE, free_port
from uomp.node.clock import Clock, SystemClock
from uomp.packets import canonical
from uomp.packets.build import PacketDraft, build_packet, signing_input
from uomp.packets.items import MemoryItem
from uomp.packets.multibase import (
    b64_decode_lenient,
    b64_encode,
    b64url_encode,
    encode_multikey,
)
from uomp.packets.signing import Ed25519Signer
from uomp.packets.times import format_time
from uomp.protocol.did.peer4 import create, node_document
from uomp.protocol.did.resolve import resolve_static, short_form
from uomp.protocol.didcomm.agreement import AgreementKey, RecipientKey
from uomp.protocol.didcomm.anoncrypt import pack_anoncrypt
from uomp.protocol.didcomm.authcrypt import pack_authcrypt
from uomp.protocol.didcomm.jws import sign_message
from uomp.protocol.didcomm.unpack import unpack
from uomp.protocol.messages import types
from uomp.transports.base import Reply
from uomp.transports.didcomm_http import ENCRYPTED, PLAIN, SIGNED, inbound_handler
from uomp.transports.listener import Limits, Listener

Json = dict[str, Any]
MEDIA = {"auth": ENCRYPTED, "anon": ENCRYPTED, "signed": SIGNED, "plain": PLAIN}


class Stranger:
    """Keys, a DID, and what was received so far."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.port = free_port()
        self.signing = Ed25519PrivateKey.generate()
        self.agreement = X25519PrivateKey.generate()
        made = create(
            node_document(
                encode_multikey(
                    "Ed25519", self.signing.public_key().public_bytes_raw()
                ),
                encode_multikey(
                    "X25519", self.agreement.public_key().public_bytes_raw()
                ),
                f"http://127.0.0.1:{self.port}/didcomm",
            )
        )
        self.did, self.short = made.long, made.short
        self.signer = Ed25519Signer(f"{self.did}#key-1", self.signing)
        self.heard: list[Json] = []
        self.tried: list[Json] = []  # also what was answered with a refusal
        self.answers = 202
        self.answering = asyncio.Event()
        self.answering.set()
        self._news = asyncio.Event()
        self._http: aiohttp.ClientSession | None = None

    # ---- sending ------------------------------------------------------------

    def message(self, to: str, kind: str, body: Json, /, **members: Any) -> Json:
        """Return a plaintext; `members` replace its own, None takes one out."""
        now = int(self.clock.now().timestamp())
        made: Json = {
            "id": str(uuid.uuid4()),
            "typ": PLAIN,
            "type": kind,
            "from": self.did,
            "to": [to],
            "created_time": now,
            "expires_time": now + 3600,
            "body": body,
        }
        made.update(members)
        return {name: value for name, value in made.items() if value is not None}

    def pack(self, to: str, message: Json, how: str = "auth") -> bytes:
        """Put a plaintext into an envelope for `to`."""
        data = json.dumps(message).encode()
        if how == "plain":
            return data
        if how == "signed":
            return sign_message(data, self.signer)
        key = resolve_static(to, {}).agreement_key(f"{to}#key-2")
        fresh: Json = {
            "recipients": [RecipientKey(f"{to}#key-2", key)],
            "ephemeral": X25519PrivateKey.generate(),
            "cek": os.urandom(64),
            "iv": os.urandom(16),
        }
        if how == "anon":
            return pack_anoncrypt(data, **fresh)
        mine = AgreementKey(f"{self.did}#key-2", self.agreement)
        return pack_authcrypt(data, sender=mine, **fresh)

    async def post(
        self, to: Live, envelope: bytes, media: str = ENCRYPTED
    ) -> tuple[int, bytes]:
        """Post bytes to a node and return its answer."""
        self._http = self._http or aiohttp.ClientSession()
        url = f"http://127.0.0.1:{to.port}/didcomm"
        headers = {"Content-Type": media}
        async with self._http.post(url, data=envelope, headers=headers) as answer:
            return answer.status, await answer.read()

    async def say(self, to: Live, kind: str, body: Json, **members: Any) -> str:
        """Send one message that the node takes, and return its id."""
        message = self.message(to.did, kind, body, **members)
        status, answer = await self.post(to, self.pack(to.did, message))
        assert (status, answer) == (202, b""), answer
        return str(message["id"])

    async def ask(self, to: Live, *tags: str, **members: Any) -> str:
        """Ask for memory and return the id of the message."""
        scopes = {"read": {"tags": list(tags), "keys": []}}
        body = {"agent_id": self.short, "requested_scopes": scopes, **members}
        return await self.say(to, types.AUTHORIZE_REQUEST, body)

    async def session(self, owner: Live, *tags: str, **selection: Any) -> Json:
        """Ask, let the owner grant, and return the body of the answer."""
        thread = await self.ask(owner, *tags)
        waiting = await owner.until("requests.list", bool)
        request = {"request_id": waiting[-1]["request_id"]}
        selection = {"packet": False, **selection}
        await owner.call("requests.approve", **request, selection=selection)
        answer = await self.hears(types.AUTHORIZE_RESPONSE, thid=thread)
        body: Json = answer["body"]
        return body

    async def read(self, owner: Live, granted: Json, **wanted: Any) -> Json:
        """Read with a token; return the message that answers."""
        body = {
            "session_id": granted["session_id"],
            "token": granted["token"],
            **wanted,
        }
        thread = await self.say(owner, types.HANDOFF_REQUEST, body)
        return await self.hears(
            where=lambda one: thread in (one.get("thid"), one.get("pthid"))
        )

    async def verdict(self, owner: Live, granted: Json, **wanted: Any) -> str:
        """Read, and return the last word of the refusal, or `delivered`."""
        answer = await self.read(owner, granted, **wanted)
        if answer["type"] == types.HANDOFF_DELIVER:
            return "delivered"
        assert answer["type"] == types.PROBLEM_REPORT
        return str(answer["body"]["code"]).rpartition(".")[2]

    @staticmethod
    def packet_in(message: Json) -> Json:
        """Return the packet that a message carries."""
        (attachment,) = message["attachments"]
        packet: Json = json.loads(b64_decode_lenient(attachment["data"]["base64"]))
        return packet

    async def deliver(self, to: Live, packet: Json | bytes, **members: Any) -> str:
        """Hand a packet over as it is, announced as what it is."""
        data = packet if isinstance(packet, bytes) else canonical.encode(packet)
        body = {
            "payload_id": f"mem_{uuid.uuid4().hex}",
            "hash": canonical.sha256(data),
            "size": len(data),
            "format": "application/uomp-packet+json",
            "mode": "inline",
            **members.pop("body", {}),
        }
        attachments = [{"id": "packet", "data": {"base64": b64url_encode(data)}}]
        kind = members.pop("kind", types.HANDOFF_DELIVER)
        return await self.say(to, kind, body, attachments=attachments, **members)

    # ---- packets ------------------------------------------------------------

    def header(self, **members: Any) -> Json:
        """Return a packet's header; `members` replace its own, None takes one out."""
        made: Json = {
            "protocol_version": "1.0",
            "packet_id": f"mem_{uuid.uuid4().hex}",
            "agent_id": self.did,
            "session_id": "sess_of_a_stranger",
            "timestamp": format_time(self.clock.now()),
            "memory_type": "knowledge_snippet",
        }
        made.update(members)
        return {name: value for name, value in made.items() if value is not None}

    def packet(self, *items: MemoryItem, payload: Any = None, **header: Any) -> Json:
        """Return a packet of these items, or with this payload."""
        draft = PacketDraft(
            header=self.header(**header),
            payload=payload,
            items=items if payload is None else None,
            items_seed=os.urandom(32),
        )
        return build_packet(draft, self.signer)

    def signed(self, packet: Json, **header: Any) -> Json:
        """Return the packet with another header, hashed and signed as if it were good.

        Nothing of it is checked, so it may be one that no honest program would make.
        """
        made = {**packet, "header": {**packet["header"], **header}}
        made["integrity_hash"] = canonical.digest(made["payload"])
        value = self.signer.sign(signing_input(made))
        made["signature"] = {**made["signature"], "signature_value": b64_encode(value)}
        return made

    # ---- receiving ----------------------------------------------------------

    async def hears(
        self,
        kind: str | None = None,
        *,
        thid: str | None = None,
        where: Callable[[Json], bool] = lambda _: True,
    ) -> Json:
        """Return the first message of a type or thread, as soon as it is there."""

        def fits(one: Json) -> bool:
            if kind is not None and one["type"] != kind:
                return False
            return (thid is None or one.get("thid") == thid) and where(one)

        async with asyncio.timeout(PATIENCE):
            while not (found := [one for one in self.heard if fits(one)]):
                self._news.clear()
                await self._news.wait()
        return found[0]

    async def is_tried(self, times: int = 1) -> None:
        """Wait until this many messages have come in, taken or not."""
        async with asyncio.timeout(PATIENCE):
            while len(self.tried) < times:
                self._news.clear()
                await self._news.wait()

    async def refused(self, thread: str) -> Json:
        """Return the body of the problem report about a message."""
        report = await self.hears(
            types.PROBLEM_REPORT, where=lambda one: one.get("pthid") == thread
        )
        body: Json = report["body"]
        return body

    async def _take(self, envelope: bytes, _source: str) -> Reply:
        message = self.open(envelope)
        self.tried.append(message)
        self._news.set()
        await self.answering.wait()
        if self.answers == 202:
            self.heard.append(message)
            self._news.set()
        return Reply(status=self.answers)

    def open(self, envelope: bytes) -> Json:
        """Decrypt what somebody has sent."""
        names = [f"{did}#key-2" for did in (self.did, self.short)]
        secrets = {name: AgreementKey(name, self.agreement) for name in names}
        unpacked = unpack(envelope, secrets=secrets, resolve=self._resolve)
        return {**unpacked.plaintext, "proved": unpacked.sender}

    def _resolve(self, did: str) -> Any:
        return resolve_static(did, _known.get)

    async def listen(self) -> Listener:
        listener = Listener(inbound_handler(self._take), Limits(max_body=64 << 20))
        await listener.start_tcp("127.0.0.1", self.port)
        return listener

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()


_known: dict[str, str] = {}  # long forms of the nodes that strangers have met


def introduce(*nodes: Live) -> None:
    """Let strangers resolve the short DIDs of these nodes."""
    _known.update((short_form(node.did), node.did) for node in nodes)


@asynccontextmanager
async def stranger(*meets: Live) -> AsyncIterator[Stranger]:
    """Run a stranger who knows these nodes."""
    introduce(*meets)
    made = Stranger(meets[0].clock if meets else None)
    listener = await made.listen()
    try:
        yield made
    finally:
        await listener.close()
        await made.close()


def item(key: str, value: Any, *tags: str, level: Any = "low") -> MemoryItem:
    """Return an item of today."""
    now = format_time(datetime.now(UTC))
    return MemoryItem(
        key=key,
        value=value,
        tags=tags or ("t",),
        sensitivity=level,
        source="user",
        created_at=now,
        updated_at=now,
    )
